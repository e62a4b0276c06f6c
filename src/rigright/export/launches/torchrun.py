"""torchrun: one program a GPU, over all nodes."""

from __future__ import annotations

from rigright.export.launch import Launch
from rigright.export.text import Variable, Words, comments, given, script, template
from rigright.facts.training import find_precision

NAME = "torchrun"
OURS = "train.py"  # the script of a user who named none
SET = (
    "method", "precision", "micro_batch", "accumulate", "seq_tok", "steps", "epochs", "recompute", "sharding",
    "offload", "optimizer", "compiled", "rank", "targets", "dropout",
)  # fmt: skip
STOP_S = 300  # from SIGTERM to SIGKILL: a checkpoint is written between them
FEW_GPUS = 2  # more than these seldom hang on one socket


def export(launch: Launch) -> dict[str, str]:
    """The launch, and the script that it starts where the user named none."""
    launched = script(command(launch), head=launch.head, environment=launch.environment)
    return {"train.sh": launched, **training_script(launch, NAME)}


def training_script(launch: Launch, program: str) -> dict[str, str]:
    """The training itself, by the choices of the plan."""
    if launch.script != OURS:
        return {}
    plan = {name.upper(): getattr(launch.training, name) for name in SET}
    plan["WEIGHTS_IN_FP32"] = find_precision(launch.training.mixed).param == 4
    lines = "\n".join(f"{name} = {value!r}" for name, value in {"MODEL": launch.model, **plan}.items())
    parts = {name: template(name).rstrip() for name in (program, "model")}
    text = parts[program].replace("{plan}", lines).replace("{model}", parts["model"])
    return {OURS: f"{comments(launch.head)}{text}\n"}


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
