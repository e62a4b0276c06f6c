"""Parameters of a pipeline stage: trainable ones by group, and bytes of frozen ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from rigright.arch.record import Arch, Cut, Layer
from rigright.cost.shards import ByCut, share
from rigright.cost.training_adapters import halves, is_target
from rigright.cost.training_stages import TrainingStage
from rigright.cost.training_states import Group, Ranks, States, groups_of, summed, trained_states
from rigright.cost.training_towers import PLAIN_BYTES, is_entry, kv_heads_of, learners, trunk_of
from rigright.cost.weights import Form, stored
from rigright.demand import Numbers

MAGNITUDE = "dora"  # DoRA learns one magnitude an output beside A and B
MASTER_BYTES = 4.0


@cache
def layer_groups(layer: Layer) -> tuple[Group, ...]:
    """One layer, whole."""
    return groups_of((weight, 1) for weight in layer.weights)


@cache
def outer_groups(arch: Arch, place: str) -> tuple[Group, ...]:
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
    pairs = [(layer_groups(layer), times) for layer, times in stage.counts.items()]
    places = (("entry", stage.embeds), ("exit", stage.last), ("beside", stage.first))
    pairs += [(outer_groups(stage.arch, place), there) for place, there in places]
    return trained_states(summed(pairs), _ranks(stage), precision=setup.precision, optimizer=setup.optimizer)


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
    return trained_states(summed(pairs), _ranks(stage), precision=precision, optimizer=setup.optimizer)


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
