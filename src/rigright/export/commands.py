"""The command of whatever program a plan runs with, for schedulers and services around it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import PurePosixPath

from rigright.base import shelf
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.export.clients import SCRIPTS
from rigright.export.launch import Launch
from rigright.export.text import Words, flat

LAUNCHES = "rigright.export.launches"
CONFIG, MODELS = (
    "/config/",
    "/models",
)  # in a container: the files beside the command, and weights that are a file
_FILES = {"llama.cpp": "llama_cpp"}


def file_of(target: str) -> str:
    """The file on the shelf that bears a target."""
    return _FILES.get(target, target.replace("-", "_"))


def command_of(launch: Launch) -> Words:
    """The command of its program."""
    words: Words = shelf.take(LAUNCHES, file_of(launch.program.id), bears="command")(launch)
    return words


def workers_of(launch: Launch) -> Words:
    """What the command is given besides on every node but the first."""
    return ((launch.program.workers,),) if launch.nodes > 1 and launch.program.workers else ()


def files_beside(launch: Launch) -> dict[str, str]:
    """The files that the command reads, and the load: what its own target writes but its scripts."""
    item = launch if launch.served is None else replace(launch, nodes=1, gpus=launch.ranks)
    fields: dict[str, str] = shelf.take(LAUNCHES, file_of(launch.program.id), bears="export")(item)
    return {
        name: text
        for name, text in fields.items()
        if name in SCRIPTS or not name.endswith((".sh", "nginx.conf"))
    }


def serves(launch: Launch, target: str) -> None:
    """Refuse a training where a target keeps servers up."""
    if launch.trained is not None:
        raise AskError(
            say("{target} is for serving, but this is a training plan", target=target),
            hint=say("export {fitting}", fitting=f"slurm, {launch.program.id}"),
        )


def one_node(launch: Launch, target: str, *, instead: str = "slurm") -> None:
    """Refuse a plan of several nodes where a target starts programs on one."""
    if launch.nodes > 1:
        raise AskError(
            say("{target} starts one node; the plan has {count}", target=target, count=launch.nodes),
            hint=say("export {fitting}", fitting=instead),
        )


def one_group(launch: Launch) -> None:
    """Refuse hybrid sharding where a program divides states over all ranks or none."""
    if launch.copies > 1:
        choice = f"sharding {launch.training.sharding}"
        raise launch.program.refuses(choice, hint=say("export {fitting}", fitting="accelerate, axolotl"))


def image_of(launch: Launch) -> str:
    """The container image of a program on the cards of the plan."""
    image = launch.program.images.get(launch.vendor or "none")
    if image is None:
        cards = launch.vendor or say("a processor alone")
        raise AskError(
            say(
                "no container image is known for {engine} on {cards}",
                engine=launch.program.label,
                cards=cards,
            ),
            hint=say("export slurm or systemd"),
        )
    return image


def in_container(launch: Launch) -> Launch:
    """One server as its container has it: a port and GPUs of its own, and what it reads at fixed places."""
    name = PurePosixPath(launch.model).name
    return replace(
        launch,
        host="0.0.0.0",  # noqa: S104 - inside its container
        port=launch.program.port or 0,
        first_gpu=0,
        files_at=CONFIG,
        model=launch.model if launch.weights_folder is None else f"{MODELS}/{name}",
    )


def words_in_container(inside: Launch, extra: Words = ()) -> list[str]:
    """Its command there, by the path that the image has it under."""
    words = [*flat(command_of(inside)), *flat(extra)]
    return [inside.program.binary or words[0], *words[1:]]


def made_first(launch: Launch, before: str = "") -> tuple[str, ...]:
    """Comments: what must be done once the server is up, before it answers for the model."""
    if launch.program.id != "ollama":
        return ()
    made = shlex.join(["ollama", "create", launch.name, "-f", f"{launch.files_at}Modelfile"])
    return (f"once it is up, make the model: {before}{made}",)
