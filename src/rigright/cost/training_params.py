"""Parameters of a pipeline stage: those that learn, by group, and the bytes of those that are frozen."""

from __future__ import annotations

from functools import cache

import numpy as np

from rigright.arch import count
from rigright.arch.record import Arch, Cut, Layer, Tower, Weight
from rigright.arch.roles import part
from rigright.cost.shards import share
from rigright.cost.training_adapters import halves, is_target
from rigright.cost.training_setup import Setup
from rigright.cost.training_states import Group, States, groups_of, kv_heads_of, shards, trained_states
from rigright.cost.weights import ByCut, weigh
from rigright.demand import Layout, Numbers

ENTRY = frozenset({"embed", "position", "patch", "project"})
DENOISERS = frozenset({"unet", "dit", "transformer"})
PLAIN_BYTES = 2  # of an element in 16 bit
MAGNITUDE = "dora"  # DoRA learns one magnitude an output beside A and B


def learners(arch: Arch) -> tuple[Tower, ...]:
    """Towers that learn in full training: the denoiser of a diffusion model, else all."""
    denoisers = tuple(tower for tower in arch.towers if tower.name in DENOISERS)
    return denoisers or arch.towers


def trunk_of(arch: Arch) -> Tower:
    """The tower that pipeline stages divide."""
    return next((tower for tower in learners(arch) if tower.name in DENOISERS), arch.trunk)


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


def is_entry(weight: Weight) -> bool:
    """Whether it stands before the first layer."""
    return part(weight) in ENTRY


@cache
def adapter_groups(layer: Layer, targets: str, method: str, *, half: bool) -> tuple[Group, ...]:
    """Adapter elements for each unit of rank, and DoRA's magnitudes as vectors (whatever the rank)."""
    sums: dict[tuple[Cut, str], float] = {}
    for weight in layer.weights:
        if is_target(weight, targets):
            first, second = halves(weight)
            for elems, cut in (second,) if half else (first, second):
                sums[cut, "matrix"] = sums.get((cut, "matrix"), 0) + elems
            if method == MAGNITUDE:
                sums[second[1], "vector"] = sums.get((second[1], "vector"), 0) + weight.shape[0] * weight.copies
    return tuple(Group(cut=cut, kind=kind, elems=elems) for (cut, kind), elems in sums.items())


def full_states(arch: Arch, setup: Setup, layout: Layout, counts: dict[Layer, Numbers], stage: Numbers) -> States:
    """States of a stage where the base learns."""
    kv_heads = kv_heads_of(arch)

    def of(groups: tuple[Group, ...]) -> States:
        return trained_states(
            groups, setup.precision, setup.optimizer, layout, sharding=setup.training.sharding, kv_heads=kv_heads
        )

    total = States()
    for layer, times in counts.items():
        total += of(layer_groups(layer)) * times
    first, last, copied = ends(arch, layout, stage)
    total += of(outer_groups(arch, "entry")) * np.where(first | copied, 1, 0)
    total += of(outer_groups(arch, "exit")) * np.where(last, 1, 0)
    return total + of(outer_groups(arch, "beside")) * np.where(first, 1, 0)


def ends(arch: Arch, layout: Layout, stage: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Whether a stage is the first, the last, and whether it holds a copy of a tied embedding."""
    stage = np.asarray(stage)
    first, last = stage == 0, stage == np.asarray(layout.pp) - 1
    return first, last, last & arch.tied


def adapter_states(setup: Setup, layout: Layout, counts: dict[Layer, Numbers], kv_heads: int) -> States:
    """States of the adapters of a stage; they are kept in the trainer's adapter width with gradients alike."""
    training, width = setup.training, setup.trainer.adapter
    master = 4.0 if width < 4 and setup.precision.master else 0.0
    precision = type(setup.precision)(
        id="adapter",
        label="adapter",
        compute=setup.precision.compute,
        param=width,
        master=master,
        grad=max(width, master),
        state=max(width, master),
        cast=0,
        gather=width,
        residual=width,
        input=width,
    )
    total = States()
    for layer, times in counts.items():
        for group in adapter_groups(layer, training.targets, training.method, half=setup.optimizer.half_adapters):
            rank = np.asarray(training.rank) if group.kind == "matrix" else 1
            states = trained_states(
                (group,), precision, setup.optimizer, layout, sharding=training.sharding, kv_heads=kv_heads
            )
            total += states * (times * rank)
    return total


@cache
def _frozen_layers(arch: Arch, format_id: str) -> dict[Layer, ByCut]:
    trunk = trunk_of(arch)
    if trunk is arch.trunk:
        return dict(zip(trunk.layers, weigh(arch, format_id).layers, strict=True))
    return {layer: {group.cut: group.elems * PLAIN_BYTES for group in layer_groups(layer)} for layer in trunk.layers}


@cache
def bystander_bytes(arch: Arch) -> float:
    """Towers that only run: text encoders and the VAE of a diffusion model, in 16 bit."""
    return sum(
        count.elems(weight) * weight.copies * times * PLAIN_BYTES
        for tower in arch.towers
        if tower not in learners(arch)
        for weight, times in count.weights((tower,))
    )


def frozen_bytes(
    arch: Arch, setup: Setup, layout: Layout, counts: dict[Layer, Numbers], stage: Numbers
) -> Numbers:
    """Bytes of a base that does not learn, in its format, divided where it is gathered."""
    weighed = weigh(arch, base_format(setup))
    by_layer = _frozen_layers(arch, base_format(setup))
    first, last, copied = ends(arch, layout, stage)
    kv_heads = kv_heads_of(arch)

    def of(by_cut: ByCut) -> Numbers:
        sharding = setup.training.sharding
        return sum(
            size * share(cut, layout, kv_heads=kv_heads) / shards(cut, sharding, layout).param
            for cut, size in by_cut.items()
        )

    total = sum(of(by_layer[layer]) * times for layer, times in counts.items())
    total = total + of(weighed.entry) * np.where(first | copied, 1, 0)
    return total + of(weighed.exit) * np.where(last, 1, 0) + of(weighed.beside) * np.where(first, 1, 0)


def base_format(setup: Setup) -> str:
    """The format a frozen base lies in."""
    if setup.training.method == "qlora":
        return setup.training.base
    return "fp32" if setup.precision.param == 4 and not setup.gathered else "bf16"


def unit_bytes(arch: Arch, setup: Setup, layout: Layout) -> tuple[Numbers, Numbers]:
    """Bytes of the largest gathered layer, and of what stays gathered around the layers."""
    kv_heads = kv_heads_of(arch)

    def of(by_cut: ByCut) -> Numbers:
        return sum((size * share(cut, layout, kv_heads=kv_heads) for cut, size in by_cut.items()), start=0.0)

    weighed = weigh(arch, setup.training.base if setup.training.method == "qlora" else _gather_format(setup))
    largest = np.maximum.reduce([of(by_cut) for by_cut in {id(cuts): cuts for cuts in weighed.layers}.values()])
    return largest, of(weighed.entry) + of(weighed.exit)


def _gather_format(setup: Setup) -> str:
    return "fp32" if setup.precision.gather == 4 else "bf16"
