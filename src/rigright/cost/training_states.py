"""Training states of one rank: weights, master weights, gradients, optimizer, and their sharding."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

import numpy as np

from rigright.arch.record import Cut, Weight, part
from rigright.base.record import dataclass
from rigright.cost.shards import share
from rigright.demand import Layout, Numbers
from rigright.facts.training import Optimizer, Precision

NODE_RANKS = 8  # ranks HSDP shards over: one node
TABLES = frozenset({"embed", "position", "head"})
STAT_BYTES = 4  # factored states are kept in fp32
SMALL_ELEMS = 4096  # smaller tensors keep 32-bit states in 8-bit optimizers


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Elements of parameters that are cut alike and kept alike by the optimizer."""

    cut: Cut
    kind: str  # "matrix", "table", "vector"
    elems: Numbers
    edges: Numbers = 0.0  # rows plus columns, for factored states


def dividing(ranks: Numbers, sharding: str) -> Numbers:
    """Of so many ranks with the same weights, those that divide them: of hybrid sharding one group alone."""
    return np.minimum(ranks, NODE_RANKS) if sharding == "hsdp" else ranks


def groups_of(weights: Iterable[tuple[Weight, float]]) -> tuple[Group, ...]:
    """Sum weights (with how often they stand there) by cut and kind."""
    sums: dict[tuple[Cut, str], list[float]] = {}
    for weight, times in weights:
        sums_of = sums.setdefault((weight.cut, kind_of(weight)), [0.0, 0.0])
        sums_of[0] += math.prod(weight.shape) * weight.copies * times
        sums_of[1] += sum(weight.shape) * weight.copies * times
    return tuple(Group(cut=cut, kind=kind, elems=s[0], edges=s[1]) for (cut, kind), s in sums.items())


def summed(pairs: Iterable[tuple[tuple[Group, ...], Numbers]]) -> tuple[Group, ...]:
    """Groups that stand so many times each, as few as there are cuts and kinds."""
    sums: dict[tuple[Cut, str], Group] = {}
    for groups, times in pairs:
        for group in groups:
            key = (group.cut, group.kind)
            before = sums.get(key, Group(cut=group.cut, kind=group.kind, elems=0.0))
            elems, edges = before.elems + group.elems * times, before.edges + group.edges * times
            sums[key] = Group(cut=group.cut, kind=group.kind, elems=elems, edges=edges)
    return tuple(sums.values())


def kind_of(weight: Weight) -> str:
    """How an optimizer sees a tensor."""
    if part(weight) in TABLES and len(weight.shape) > 1:
        return "table"
    return "matrix" if len(weight.shape) > 1 and math.prod(weight.shape) >= SMALL_ELEMS else "vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """How a tensor is cut over ranks, and what of it ZeRO or FSDP divide further."""

    layout: Layout
    sharding: str
    kv_heads: int

    def elems(self, group: Group) -> Numbers:
        """Elements of a group that one rank works with."""
        return group.elems * share(group.cut, self.layout, kv_heads=self.kv_heads)

    def divided(self, cut: Cut) -> Divided:
        """Over how many ranks each copy of a tensor is divided."""
        ranks = self._sharers(cut)
        value = np.ones_like(ranks)
        level = {"none": 0, "zero1": 1, "zero2": 2}.get(self.sharding, 3)
        return Divided(
            param=ranks if level >= 3 else value,
            grad=ranks if level >= 2 else value,
            state=ranks if level >= 1 else value,
        )

    def _sharers(self, cut: Cut) -> Numbers:
        """Data and context parallel ranks; fewer where experts are spread over them."""
        layout = self.layout
        ranks = np.asarray(layout.dp, dtype=float) * np.asarray(layout.cp)
        if cut == Cut.EXPERT:
            ep, tp = np.asarray(layout.ep), np.asarray(layout.tp)
            ranks = np.where(ep > 1, np.maximum(ranks * tp / np.maximum(ep, tp), 1), ranks)
        return dividing(ranks, self.sharding)


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """Over how many ranks each copy of a tensor is divided."""

    param: Numbers
    grad: Numbers
    state: Numbers


@cache
def state_bytes(optimizer: Optimizer, kind: str, *, width: float) -> float:
    """Bytes of optimizer states for an element (factored ones apart), where one copy is so wide."""
    fixed = {"table": optimizer.table_bytes, "vector": optimizer.vector_bytes}.get(kind)
    copies = {"table": optimizer.table_copies, "vector": optimizer.vector_copies}.get(kind)
    if fixed is not None:
        return fixed
    if copies is not None:
        return copies * width
    return optimizer.bytes if optimizer.bytes is not None else optimizer.copies * width


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """Bytes on one rank."""

    weights: Numbers = 0.0
    master: Numbers = 0.0
    grads: Numbers = 0.0
    optimizer: Numbers = 0.0
    paged: Numbers = 0.0  # optimizer states PyTorch does not count
    step: Numbers = 0.0  # temporaries of the optimizer step


def trained_states(
    groups: tuple[Group, ...], ranks: Ranks, *, precision: Precision, optimizer: Optimizer
) -> States:
    """States of parameters that learn."""
    params, grads, shares, kept = (np.zeros(()) for _ in range(4))
    for group in groups:
        elems, over = ranks.elems(group), ranks.divided(group.cut)
        size = elems * state_bytes(optimizer, group.kind, width=precision.state)
        if optimizer.factored and group.kind != "vector":
            size = size + STAT_BYTES * group.edges * share(group.cut, ranks.layout, kv_heads=ranks.kv_heads)
        params = params + elems / over.param
        grads = grads + elems / over.grad
        shares = shares + elems / over.state
        kept = kept + size / over.state
    return States(
        weights=params * precision.param,
        master=shares * precision.master,
        grads=grads * precision.grad,
        optimizer=np.zeros(()) if optimizer.paged else kept,
        paged=kept if optimizer.paged else np.zeros(()),
        step=shares * (optimizer.step_copies * precision.state),
    )
