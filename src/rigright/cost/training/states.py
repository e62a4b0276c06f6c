"""States of a training on one rank: weights, frozen or not, gradients, optimizer; how they are divided."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np

from rigright.arch.record import Arch, Cut, Layer, Weight, part
from rigright.base.record import dataclass
from rigright.cost.shards import ByCut, share
from rigright.cost.training.learners import (
    PLAIN_BYTES,
    halves,
    is_entry,
    is_target,
    kv_heads_of,
    learners,
    trunk_of,
)
from rigright.cost.training.setup import TrainingStage
from rigright.cost.weights import Form, stored
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


def _trained_states(
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


MAGNITUDE = "dora"  # DoRA learns one magnitude an output beside A and B
MASTER_BYTES = 4.0


@cache
def _layer_groups(layer: Layer) -> tuple[Group, ...]:
    """One layer, whole."""
    return groups_of((weight, 1) for weight in layer.weights)


@cache
def _outer_groups(arch: Arch, place: str) -> tuple[Group, ...]:
    """What stands before the layers ("entry"), after them ("exit"), or in other towers ("beside")."""
    trunk = trunk_of(arch)
    if place == "beside":
        others = [tower for tower in learners(arch) if tower is not trunk]
        weights = [weight for tower in others for weight in tower.outer]
        weights += [weight for tower in others for layer in tower.layers for weight in layer.weights]
        return groups_of((weight, 1) for weight in weights)
    return groups_of((weight, 1) for weight in trunk.outer if is_entry(weight) == (place == "entry"))


def full_states(stage: TrainingStage) -> States:
    """States of a stage where the base learns."""
    setup = stage.setup
    pairs = [(_layer_groups(layer), times) for layer, times in stage.counts.items()]
    places = (("entry", stage.embeds), ("exit", stage.last), ("beside", stage.first))
    pairs += [(_outer_groups(stage.arch, place), there) for place, there in places]
    return _trained_states(summed(pairs), _ranks(stage), precision=setup.precision, optimizer=setup.optimizer)


def _ranks(stage: TrainingStage) -> Ranks:
    return Ranks(
        layout=stage.layout, sharding=stage.setup.training.sharding, kv_heads=kv_heads_of(stage.arch)
    )


def adapter_states(stage: TrainingStage) -> States:
    """States of the adapters of a stage, kept in the trainer's adapter width with gradients alike."""
    setup, training = stage.setup, stage.setup.training
    width = setup.trainer.adapter
    master = MASTER_BYTES if width < MASTER_BYTES and setup.precision.master else 0.0
    widest = max(width, master)
    precision = replace(setup.precision, param=width, master=master, grad=widest, state=widest)
    rank = np.asarray(training.rank)
    pairs = [
        ((group,), times * (rank if group.kind == "matrix" else 1))
        for layer, times in stage.counts.items()
        for group in adapter_groups(
            layer, training.targets, scaled=training.method == MAGNITUDE, half=setup.optimizer.half_adapters
        )
    ]
    return _trained_states(summed(pairs), _ranks(stage), precision=precision, optimizer=setup.optimizer)


@cache
def adapter_groups(layer: Layer, targets: str, *, scaled: bool, half: bool) -> tuple[Group, ...]:
    """Adapter elements for each unit of rank, and DoRA's magnitudes as vectors (whatever the rank)."""
    sums: dict[tuple[Cut, str], float] = {}
    for weight in layer.weights:
        if is_target(weight, targets):
            first, second = halves(weight)
            for elems, cut in (second,) if half else (first, second):
                sums[cut, "matrix"] = sums.get((cut, "matrix"), 0) + elems
            if scaled:
                sums[second[1], "vector"] = sums.get((second[1], "vector"), 0) + second[0]
    return tuple(Group(cut=cut, kind=kind, elems=elems) for (cut, kind), elems in sums.items())


def frozen_bytes(stage: TrainingStage) -> Numbers:
    """Bytes of a base that does not learn, in its format, divided where it is gathered."""
    weighed, ranks = stored(stage.arch, stage.setup.base), _ranks(stage)
    by_layer = _frozen_layers(stage.arch, stage.setup.base)

    def of(by_cut: ByCut) -> Numbers:
        sizes = (
            size * share(cut, stage.layout, kv_heads=ranks.kv_heads) / ranks.divided(cut).param
            for cut, size in by_cut.items()
        )
        return sum(sizes, start=np.zeros(()))

    total = sum((of(by_layer[layer]) * times for layer, times in stage.counts.items()), start=np.zeros(()))
    outer = of(weighed.entry) * stage.embeds + of(weighed.exit) * stage.last
    # whether what is not quantised lies in fp32: cast so for k-bit training, and back for bf16 alone
    setup = stage.setup
    prepared = setup.training.method == "qlora" and setup.trainer.frozen_residual == MASTER_BYTES
    is_cast = prepared and not setup.gathered and setup.precision.id.startswith("fp16")
    if is_cast:
        outer = outer * (MASTER_BYTES / PLAIN_BYTES)
    return total + outer + of(weighed.beside) * stage.first


@cache
def _frozen_layers(arch: Arch, form: Form) -> dict[Layer, ByCut]:
    trunk = trunk_of(arch)
    if trunk is arch.trunk:
        return dict(zip(trunk.layers, stored(arch, form).layers, strict=True))
    plain = {
        layer: groups_of((weight, 1) for weight in layer.weights) for layer in dict.fromkeys(trunk.layers)
    }
    return {
        layer: {cut: sum(group.elems for group in groups if group.cut == cut) * PLAIN_BYTES for cut in Cut}
        for layer, groups in plain.items()
    }


def unit_bytes(stage: TrainingStage) -> Numbers:
    """The largest layer, whole, and what stays gathered around the layers."""
    setup, kv_heads = stage.setup, kv_heads_of(stage.arch)
    weighed = stored(stage.arch, setup.whole)

    def of(by_cut: ByCut) -> Numbers:
        sizes = (size * share(cut, stage.layout, kv_heads=kv_heads) for cut, size in by_cut.items())
        return sum(sizes, start=np.zeros(()))

    kinds = _frozen_layers(stage.arch, setup.whole).values()
    largest = np.maximum.reduce([of(by_cut) for by_cut in kinds])
    return largest + of(weighed.entry) + of(weighed.exit)
