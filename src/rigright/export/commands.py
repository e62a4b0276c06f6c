"""The command of whatever program a plan runs with, for schedulers and services around it."""

from __future__ import annotations

from rigright.base import shelf
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.export.launch import Launch
from rigright.export.text import Words

LAUNCHES = "rigright.export.launches"
_FILES = {"llama.cpp": "llama_cpp"}


def file_of(target: str) -> str:
    """The file on the shelf that bears a target."""
    return _FILES.get(target, target.replace("-", "_"))


def command_of(launch: Launch) -> Words:
    """The command of its program."""
    words: Words = shelf.take(LAUNCHES, file_of(launch.program.id), bears="command")(launch)
    return words


def files_beside(launch: Launch) -> dict[str, str]:
    """The files that the command reads: what its own target writes, without the script of the launch."""
    found: dict[str, str] = shelf.take(LAUNCHES, file_of(launch.program.id), bears="export")(launch)
    return {name: text for name, text in found.items() if not name.endswith(".sh") or name == "bench.sh"}


def one_node(launch: Launch, target: str) -> None:
    """Refuse a plan of several nodes where a target starts programs on one."""
    if launch.nodes > 1:
        raise AskError(
            say("{target} starts one node; the plan has {count}", target=target, count=launch.nodes),
            hint=say("export slurm, or the program itself"),
        )


def needs_image(launch: Launch) -> str:
    """The container image of a program that has one."""
    if not launch.program.image:
        raise AskError(
            say("no container image is known for {engine}", engine=launch.program.label),
            hint=say("export slurm or systemd"),
        )
    return launch.program.image
