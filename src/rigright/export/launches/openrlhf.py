"""OpenRLHF: one command of the program for the loss, every choice a flag."""

from __future__ import annotations

from rigright.export.launch import Launch
from rigright.export.post import settings_of
from rigright.export.text import Words, given, script

NAME = "openrlhf"
PROGRAMS = {"dpo": "train_dpo", "reward": "train_rm"}  # every other loss is of the one with rollouts
ROLLED = "train_ppo_ray"
ABLE = {"lora", "qlora", "full", "bf16", "none", "zero1", "zero2", "zero3", "optimizer-cpu"}


def export(launch: Launch) -> dict[str, str]:
    """The command."""
    return {"train.sh": script(command(launch), head=launch.head, environment=launch.environment)}


def command(launch: Launch) -> Words:
    """On Ray where completions are written; else one program a GPU, as DeepSpeed starts it."""
    trained, post = launch.training, launch.post
    for choice in {trained.method, trained.precision, trained.sharding, trained.offload} - ABLE:
        raise launch.program.refusal(choice)
    kind = "openrlhf rollout" if post.rollout else "openrlhf"
    flags = settings_of(launch, kind, "openrlhf always")
    words = (group for flag, value in flags.items() for group in _words(flag, value))
    module = f"openrlhf.cli.{PROGRAMS.get(post.objective, ROLLED)}"
    if post.rollout:
        return ("python3", "-m", module), *words
    if launch.nodes > 1:
        raise launch.program.refusal(f"{launch.nodes} nodes")
    return ("deepspeed", "--num_gpus", str(launch.gpus), "--module", module), *words


def _words(flag: str, value: object) -> Words:
    return ((flag, *value),) if isinstance(value, tuple) else given((flag, value))
