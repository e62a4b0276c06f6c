"""TRL: a script by the choices of the plan, launched by accelerate."""

from __future__ import annotations

from typing import Any

from rigright.base.tables import DATA
from rigright.export.launch import Launch
from rigright.export.launches import accelerate, transformers
from rigright.export.post import settings_of
from rigright.export.text import Words, comments, dumps, script
from rigright.facts.training import find_precision, objectives

NAME = "trl"
SET = ("method", "precision", "rank", "targets", "dropout")  # beside the settings of its trainer
ROWS = {  # what a line of the data holds, by kind
    "pair": 'one {"prompt": ..., "chosen": ..., "rejected": ...} a line',
    "mark": 'one {"prompt": ..., "completion": ..., "label": true} a line',
    "prompt": 'one {"prompt": ..., "answer": ...} a line',
}
REWARD = '''def reward(completions, answer, **rest):
    """1 where the answer is in the completion; yours goes here."""
    return [float(want in text) for text, want in zip(completions, answer, strict=True)]


'''


def export(launch: Launch) -> dict[str, str]:
    """The script, how accelerate spreads it, and the launch."""
    files = {
        accelerate.CONFIG: dumps(accelerate.config(launch), *launch.head),
        "train.sh": script(command(launch), head=launch.head, environment=launch.environment),
    }
    return files | ({"train.py": _script(launch)} if launch.script == "train.py" else {})


def command(launch: Launch) -> Words:
    """The same launch as of any script that accelerate spreads."""
    return accelerate.command(launch)


def settings(launch: Launch) -> dict[str, Any]:
    """The arguments of TRL's configuration."""
    fields = transformers.arguments(launch)
    for name in ("fsdp", "fsdp_config", "deepspeed"):  # accelerate has them
        fields.pop(name, None)
    return fields | settings_of(launch, "trl rollout" if launch.post.rollout else "trl")


def _script(launch: Launch) -> str:
    trained = launch.training
    row = objectives()[launch.post.objective]
    plan = {"MODEL": launch.model} | {name.upper(): getattr(trained, name) for name in SET}
    plan |= {"WEIGHTS_IN_FP32": find_precision(trained.mixed).param == 4, "SETTINGS": settings(launch)}
    config = row.program.replace("Trainer", "Config")
    kind = "prompt" if row.rollout else "mark" if row.sequences == 1 else "pair"
    text = (DATA / "train" / "trl.txt").read_text("utf-8")
    for name, value in {
        "{imports}": f"from {row.module} import {config}, {row.program}",
        "{plan}": "\n".join(f"{name} = {value!r}" for name, value in plan.items()),
        "{data}": ROWS[kind],
        "{program_config}": config,
        "{program}": row.program,
        "{rewards}": "        reward_funcs=reward,\n" if row.rollout else "",
        "{reward}": REWARD if row.rollout else "",
    }.items():
        text = text.replace(name, value)
    return f"{comments(launch.head)}{text}"
