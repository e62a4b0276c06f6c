"""verl: one command of its trainer, with every choice as an override of its configuration."""

from __future__ import annotations

from rigright.export.launch import Launch
from rigright.export.post import DIVIDING, DTYPES, settings_of
from rigright.export.text import Variable, Words, script

NAME = "verl"
ABLE = {"full", "lora", "none", "optimizer-cpu", "all-cpu", *DTYPES, *DIVIDING}


def export(launch: Launch) -> dict[str, str]:
    """The command."""
    return {"train.sh": script(command(launch), head=launch.head, environment=launch.environment)}


def command(launch: Launch) -> Words:
    """The trainer and its overrides."""
    trained = launch.training
    for choice in {trained.method, trained.precision, trained.sharding, trained.offload} - ABLE:
        raise launch.program.refusal(choice)
    words = settings_of(launch, "verl rollout").items()
    return ("python3", "-m", "verl.trainer.main_ppo"), *((_word(*pair),) for pair in words)


def _word(name: str, value: object) -> str:
    return Variable(value, before=f"{name}=") if isinstance(value, Variable) else f"{name}={value}"
