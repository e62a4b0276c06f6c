"""States of training on one rank: weights, master weights, gradients, optimizer, and who shares them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from rigright.arch.record import Arch, Cut, Weight
from rigright.arch.roles import part
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.cost.shards import share
from rigright.demand import Layout, Numbers
from rigright.facts.training import Optimizer, Precision

SHARDINGS = ("none", "zero1", "zero2", "zero3", "fsdp", "hsdp")
NODE_RANKS = 8  # ranks HSDP shards over: one node
TABLES = frozenset({"embed", "position", "head"})
SMALL_ELEMS = 4096  # smaller tensors keep 32-bit states in 8-bit optimizers


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Elements of parameters that are cut alike and kept alike by the optimizer."""

    cut: Cut
    kind: str  # "matrix", "table", "vector"
    elems: float
    edges: float = 0  # rows plus columns, for factored states


def groups_of(weights: Iterable[tuple[Weight, float]]) -> tuple[Group, ...]:
    """Sum weights (with how often they stand there) by cut and kind."""
    sums: dict[tuple[Cut, str], list[float]] = {}
    for weight, times in weights:
        sums_of = sums.setdefault((weight.cut, kind_of(weight)), [0.0, 0.0])
        sums_of[0] += math.prod(weight.shape) * weight.copies * times
        sums_of[1] += sum(weight.shape) * weight.copies * times
    return tuple(Group(cut=cut, kind=kind, elems=s[0], edges=s[1]) for (cut, kind), s in sums.items())


def kind_of(weight: Weight) -> str:
    """How an optimizer sees a tensor."""
    if part(weight) in TABLES and len(weight.shape) > 1:
        return "table"
    return "matrix" if len(weight.shape) > 1 and math.prod(weight.shape) >= SMALL_ELEMS else "vector"


def on_rank(group: Group, layout: Layout, kv_heads: int) -> Numbers:
    """Elements of a group that one rank works with."""
    return group.elems * share(group.cut, layout, kv_heads=kv_heads)


def sharers(cut: Cut, sharding: str, layout: Layout) -> Numbers:
    """Ranks that may share the states of one tensor: data and context parallel; fewer where experts are spread."""
    ranks = np.asarray(layout.dp, dtype=float) * np.asarray(layout.cp)
    if cut == Cut.EXPERT:
        ep = np.asarray(layout.ep, dtype=float)
        tp = np.asarray(layout.tp)
        ranks = np.where(ep > 1, np.maximum(ranks * tp / np.maximum(ep, tp), 1), ranks)
    return np.minimum(ranks, NODE_RANKS) if sharding == "hsdp" else ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """Over how many ranks each copy of a tensor is divided."""

    param: Numbers
    grad: Numbers
    state: Numbers


def shards(cut: Cut, sharding: str, layout: Layout) -> Shards:
    """What ZeRO and FSDP divide."""
    if sharding not in SHARDINGS:
        raise AskError(
            say('no sharding is called "{asked}"; write {known}', asked=sharding, known=", ".join(SHARDINGS))
        )
    ranks = sharers(cut, sharding, layout)
    one = np.ones_like(ranks)
    level = {"none": 0, "zero1": 1, "zero2": 2}.get(sharding, 3)
    return Shards(
        param=ranks if level >= 3 else one, grad=ranks if level >= 2 else one, state=ranks if level >= 1 else one
    )


@cache
def state_bytes(optimizer: Optimizer, precision_state: float, kind: str) -> float:
    """Bytes of optimizer states for an element (factored ones apart)."""
    fixed = {"table": optimizer.table_bytes, "vector": optimizer.vector_bytes}.get(kind)
    copies = {"table": optimizer.table_copies, "vector": optimizer.vector_copies}.get(kind)
    if fixed is not None:
        return fixed
    if copies is not None:
        return copies * precision_state
    return optimizer.bytes if optimizer.bytes is not None else optimizer.copies * precision_state


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """Bytes on one rank."""

    weights: Numbers = 0.0
    master: Numbers = 0.0
    grads: Numbers = 0.0
    optimizer: Numbers = 0.0
    paged: Numbers = 0.0  # optimizer states PyTorch does not count
    step: Numbers = 0.0  # temporaries of the optimizer step

    def __add__(self, other: States) -> States:
        return States(**{name: getattr(self, name) + getattr(other, name) for name in States.__slots__})

    def __mul__(self, times: Numbers) -> States:
        return States(**{name: getattr(self, name) * times for name in States.__slots__})


def trained_states(
    groups: tuple[Group, ...], precision: Precision, optimizer: Optimizer, layout: Layout, *, sharding: str, kv_heads: int
) -> States:
    """States of parameters that learn."""
    total = States()
    for group in groups:
        elems = on_rank(group, layout, kv_heads)
        cut = shards(group.cut, sharding, layout)
        state = elems * state_bytes(optimizer, precision.state, group.kind)
        if optimizer.factored and group.kind != "vector":
            state = state + group.edges * 4 * share(group.cut, layout, kv_heads=kv_heads)
        state = state / cut.state
        total += States(
            weights=elems * precision.param / cut.param,
            master=elems * precision.master / cut.state,
            grads=elems * precision.grad / cut.grad,
            optimizer=state * (not optimizer.paged),
            paged=state * optimizer.paged,
            step=elems * optimizer.step_copies * precision.state / cut.state,
        )
    return total


def kv_heads_of(arch: Arch) -> int:
    """Key-value heads of the trunk, for cuts by kv heads."""
    return max((layer.mixer.kv_heads for layer in set(arch.trunk.layers) if layer.mixer is not None), default=1) or 1
