"""Counts of an Arch: parameters, active parameters, embedding parameters, FLOPs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from rigright.arch.record import Arch, Layer, Mixer, Tower, Weight, is_matrix
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
    counts: Counter[Layer] = Counter()
    for number, times in Counter(map(id, tower.layers)).items():
        counts[unlike[number]] += times
    return counts


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
    """Parameters one token goes through: no experts it is not routed to, no tables of n-grams or layers."""
    through = (pair for pair in weights(arch.towers) if not pair[0].role.startswith("embed."))
    return sum(elems(weight) * _used(weight) * times for weight, times in through)


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


def flops_per_sample(arch: Arch, *, tok: int = 1) -> int:
    """FLOPs of one forward pass; `tok` is the text's length, for towers that have no length of their own."""
    return sum(
        tower_flops(tower, tok=tok, head_tied=arch.tied and tower is arch.trunk) for tower in arch.towers
    )


def tower_flops(tower: Tower, *, tok: int = 1, head_tied: bool = False) -> int:
    """Matrices and attention pairs of one tower."""
    length = 1 if fixed(tower) else tok
    pairs = sum(times * _pair_flops(layer, tok) for layer, times in Counter(tower.layers).items())
    return flops_per_tok(tower, head_tied=head_tied) * length + pairs


def fixed(tower: Tower) -> bool:
    """Whether a sample of this tower has a length of its own (its weights then tell at how many places)."""
    return tower.sample_tok is not None or any(layer.map_elems for layer in tower.layers)


def kept_elems(tower: Tower) -> int:
    """Elements autograd keeps for one sample of an image tower."""
    return sum(layer.kept_elems * times for layer, times in Counter(tower.layers).items())


def peak_map_elems(tower: Tower) -> int:
    """The most elements alive at once in inference: a layer's input, and two maps side by side."""
    peak, entered = 0, 0
    for layer in tower.layers:
        maps = (entered, *layer.map_elems)
        pairs = (first + second for first, second in pairwise(maps))
        peak = max(peak, entered + max(pairs, default=0))
        entered = layer.map_elems[-1] if layer.map_elems else entered
    return peak


def _pair_flops(layer: Layer, tok: int) -> int:
    """Queries against keys: all of a sample's, or those in a window."""
    total = 0
    for mixer, part in ((layer.mixer, "attn"), (layer.cross, "cross")):
        if mixer is not None and mixer.heads:
            queries, keys = places(layer, part, which="q", tok=tok), places(layer, part, which="k", tok=tok)
            total += (
                flops_per_pair(mixer)
                * queries
                * (keys if mixer.window_tok is None else min(keys, mixer.window_tok))
            )
    return total


def places(layer: Layer, part: str, *, which: str, tok: int) -> int:
    """Places of a sample that ask or answer, those of a second stream too; a text's length where untold."""
    roles = (f"{part}.{which}", f"{part}.add_{which}")
    spots = sum(max((w.sites for w in layer.weights if w.role == role), default=0) for role in roles)
    return spots if spots > 1 else tok
