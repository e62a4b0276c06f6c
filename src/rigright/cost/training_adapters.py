"""LoRA adapters: which matrices carry them, and their parameters."""

from __future__ import annotations

from functools import cache

from rigright.arch.record import Arch, Cut, Weight, is_bias, part
from rigright.base.errors import AskError
from rigright.base.words import say

GROUPS = {
    "attn": frozenset({"attn", "cross", "mixer"}),
    "ffn": frozenset({"ffn", "shared"}),
    "experts": frozenset({"expert"}),
    "all": frozenset({"attn", "cross", "mixer", "ffn", "shared", "expert"}),
    "linear": frozenset({"attn", "cross", "mixer", "ffn", "shared"}),
}
NAMES = frozenset({"q", "k", "v", "o", "qkv", "gate", "up", "down", "gate_up"})
FUSED = {"qkv": frozenset({"q", "k", "v"}), "gate_up": frozenset({"gate", "up"})}


def check_targets(targets: str) -> None:
    """Every word names a group or a matrix."""
    unknown = [word for word in targets.split() if word not in GROUPS and word not in NAMES]
    if unknown or not targets.split():
        raise AskError(
            say(
                'cannot put adapters on "{asked}"; use {known}',
                asked=" ".join(unknown) or targets,
                known=", ".join((*GROUPS, *sorted(NAMES))),
            )
        )


def is_target(weight: Weight, targets: str) -> bool:
    """Whether this matrix carries an adapter."""
    if len(weight.shape) != 2 or is_bias(weight) or part(weight) not in GROUPS["all"]:
        return False
    last = weight.role.rpartition(".")[2]
    names = FUSED.get(last, frozenset({last}))
    return any(
        part(weight) in GROUPS[word] if word in GROUPS else word in names or word == last
        for word in targets.split()
    )


@cache
def adapted(arch: Arch, targets: str) -> float:
    """Matrices of a layer that carry an adapter, on average."""
    layers = arch.trunk.layers
    fields = {id(layer): sum(is_target(weight, targets) for weight in layer.weights) for layer in layers}
    return sum(fields[id(layer)] for layer in layers) / len(layers)


def halves(weight: Weight) -> tuple[tuple[int, Cut], tuple[int, Cut]]:
    """Elements of A and of B for each unit of rank, and how each is cut."""
    outputs, inputs = weight.shape
    cut_a = weight.cut if weight.cut in {Cut.IN, Cut.EXPERT} else Cut.WHOLE
    cut_b = Cut.WHOLE if weight.cut == Cut.IN else weight.cut
    return (inputs * weight.copies, cut_a), (outputs * weight.copies, cut_b)
