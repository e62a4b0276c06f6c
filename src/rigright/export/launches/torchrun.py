"""torchrun: one program a GPU, over all nodes."""

from __future__ import annotations

from rigright.export.launch import Launch
from rigright.export.text import Variable, Words, given, script

NAME = "torchrun"
STOP_S = 300  # from SIGTERM to SIGKILL: a checkpoint is written between them
FEW_GPUS = 2  # more than these seldom hang on one socket


def export(launch: Launch) -> dict[str, str]:
    """The launch of the user's own script."""
    return {"train.sh": script(command(launch), head=launch.head, environment=launch.environment)}


def command(launch: Launch) -> Words:
    """The launch; of several nodes, that of each: they meet at a place that all of them know."""
    return ("torchrun",), *ranks(launch), (launch.script,)


def ranks(launch: Launch) -> Words:
    """Its own flags: how many ranks, where they meet, what happens when one fails or all must stop."""
    return given(
        ("--nnodes", launch.nodes),
        ("--nproc-per-node", launch.gpus),
        ("--standalone", launch.nodes == 1),
        ("--rdzv-backend", "c10d" if launch.nodes > 1 else None),
        ("--rdzv-endpoint", Variable("HEAD", ":29500") if launch.nodes > 1 else None),
        ("--rdzv-id", launch.name if launch.nodes > 1 else None),
        ("--max-restarts", 3),
        ("--shutdown-timeout", STOP_S),
        ("--numa-binding", "node" if launch.vendor == "NVIDIA" and launch.gpus > FEW_GPUS else None),
    )
