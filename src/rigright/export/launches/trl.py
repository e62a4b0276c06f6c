"""TRL: a script by the choices of the plan, launched by accelerate."""

from __future__ import annotations

from typing import Any

from rigright.base.tables import DATA
from rigright.export.launch import Launch
from rigright.export.launches import accelerate, torchrun, transformers
from rigright.export.post import settings_of
from rigright.export.text import comments
from rigright.facts.training import find_precision, objectives

NAME = "trl"
SET = ("method", "precision", "rank", "targets", "dropout")  # beside the settings of its trainer
ROWS = {  # what a line of the data holds, by kind
    "pair": 'one {"prompt": ..., "chosen": ..., "rejected": ...} a line',
    "mark": 'one {"prompt": ..., "completion": ..., "label": true} a line',
    "prompt": 'one {"prompt": ..., "answer": ...} a line',
}


def export(launch: Launch) -> dict[str, str]:
    """The same launch as of any script that accelerate spreads, and the script."""
    files = accelerate.export(launch)
    return files | ({torchrun.OURS: _script(launch)} if torchrun.OURS in files else {})


command = accelerate.command


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
    text = _template("trl")
    for name, value in {
        "{imports}": f"from {row.module} import {config}, {row.program}",
        "{plan}": "\n".join(f"{name} = {value!r}" for name, value in plan.items()),
        "{data}": ROWS[kind],
        "{program_config}": config,
        "{program}": row.program,
        "{rewards}": "        reward_funcs=reward,\n" if row.rollout else "",
        "{reward}": _template("trl_reward") if row.rollout else "",
    }.items():
        text = text.replace(name, value)
    return f"{comments(launch.head)}{text}"


def _template(name: str) -> str:
    return (DATA / "train" / f"{name}.txt").read_text("utf-8")
