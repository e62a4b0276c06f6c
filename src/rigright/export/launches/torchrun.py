"""torchrun: one program a GPU, over all nodes."""

from __future__ import annotations

from rigright.export.launch import Launch
from rigright.export.text import Variable, Words, given, script

NAME = "torchrun"


def export(launch: Launch) -> dict[str, str]:
    """The launch of the user's own script."""
    return {"train.sh": script(command(launch), head=launch.head, environment=launch.environment)}


def command(launch: Launch) -> Words:
    """The launch; of several nodes, that of each: they meet at a place that all of them are told."""
    return (
        ("torchrun",),
        *given(
            ("--nnodes", launch.nodes),
            ("--nproc-per-node", launch.gpus),
            ("--standalone", launch.nodes == 1),
            ("--rdzv-backend", "c10d" if launch.nodes > 1 else None),
            ("--rdzv-endpoint", Variable("HEAD", ":29500") if launch.nodes > 1 else None),
            ("--rdzv-id", launch.name if launch.nodes > 1 else None),
            ("--max-restarts", 3),
        ),
        (launch.script,),
    )
