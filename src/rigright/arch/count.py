"""Counts of an Arch: parameters, active parameters, embedding parameters, FLOPs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from rigright.arch.record import Arch, Layer, Mixer, Tower, Weight
from rigright.arch.roles import is_matrix
from rigright.base.record import kept


def weights(towers: tuple[Tower, ...]) -> Iterator[tuple[Weight, int]]:
    """Every weight with how often it stands there (equal layers counted once)."""
    for tower in towers:
        for weight in tower.outer:
            yield weight, 1
        for layer, times in alike(tower).items():
            for weight in layer.weights:
                yield weight, times


@kept
def alike(tower: Tower) -> Mapping[Layer, int]:
    """Layers with how often they stand there. Most are one record many times, which is cheaply seen."""
    unlike = {id(layer): layer for layer in tower.layers}
    fields: Counter[Layer] = Counter()
    for number, times in Counter(map(id, tower.layers)).items():
        fields[unlike[number]] += times
    return fields


def elems(weight: Weight) -> int:
    """Elements of one copy."""
    return math.prod(weight.shape)


@kept
def params(arch: Arch) -> int:
    """Every parameter once; tied tensors once, MTP and buffers not at all."""
    return sum(map(tower_params, arch.towers))


@kept
def tower_params(tower: Tower) -> int:
    """The same of one tower."""
    return sum(elems(weight) * weight.copies * times for weight, times in weights((tower,)))


@kept
def active_params(arch: Arch) -> int:
    """Parameters one token goes through: all but the experts it is not routed to."""
    return sum(elems(weight) * _used(weight) * times for weight, times in weights(arch.towers))


def embedding_params(arch: Arch) -> int:
    """The token table of the trunk alone (not the head, unless tied, when they are one)."""
    return sum(elems(weight) for weight in arch.trunk.outer if weight.role == "embed")


def flops_per_tok(tower: Tower, *, head_tied: bool = False) -> int:
    """Twice the multiply-adds of all matrices for one token (an image tower: one sample); pairs apart."""
    total = sum(
        2 * elems(weight) * _used(weight) * weight.sites * times
        for weight, times in weights((tower,))
        if is_matrix(weight)
    )
    tied = sum(2 * elems(weight) for weight in tower.outer if weight.role == "embed") if head_tied else 0
    return total + tied


def flops_per_pair(mixer: Mixer) -> int:
    """FLOPs of one query token against one key token, all heads: scores and weighted sum."""
    return 2 * mixer.heads * (mixer.key_dim + mixer.value_dim)


def _used(weight: Weight) -> int:
    return weight.copies if weight.used is None else weight.used
