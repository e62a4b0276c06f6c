"""Work of one sample: multiplications, their outputs, and attention scores."""

from __future__ import annotations

from collections import Counter

from rigright.arch import count
from rigright.arch.image_kinds import ImageKind
from rigright.arch.record import Arch, Layer, Mixer, Tower, Weight, is_matrix
from rigright.base.record import dataclass
from rigright.base.units import GIGA, MEGA
from rigright.demand import Numbers

KERNELS = 250  # a pass starts, of a network whose layers nobody counted
FOLDED = frozenset({"windowed", "hybrid"})  # kins whose attention no fused kernel runs: scores are written
AROUND = 2.5  # kernels for each that multiplies: norms, activations, sums


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageWork:
    """One forward pass of one sample. Numbers, or arrays with one entry a run."""

    macs: Numbers  # multiply-adds of matrices, convolutions and attention
    acts: Numbers  # elements that matrices and convolutions write
    pairs: Numbers  # scores of attention, all heads
    params: Numbers
    kernels: Numbers = KERNELS  # that a pass starts


def work_of_sample(arch: Arch, kind: ImageKind, *, tok: int) -> ImageWork:
    """The work of every tower; `tok` is the text's length, where towers have no length of their own."""
    parts = [work_of_tower(tower, tok=tok) for tower in arch.towers]
    pairs = sum(part.pairs for part in parts)
    folded = kind.kin in FOLDED
    return ImageWork(
        macs=count.flops_per_sample(arch, tok=tok) / 2,
        acts=sum(part.acts for part in parts) + (pairs if folded else 0.0),
        pairs=0.0 if folded else pairs,
        params=count.params(arch),
        kernels=sum(part.kernels for part in parts),
    )


def work_of_tower(tower: Tower, *, tok: int = 1) -> ImageWork:
    """The work of one tower."""
    length = 1 if count.fixed(tower) else tok
    layers = Counter(tower.layers)
    matrices = [(weight, times) for weight, times in count.weights((tower,)) if is_matrix(weight)]
    return ImageWork(
        macs=count.tower_flops(tower, tok=tok) / 2,
        acts=sum(_written(weight) * times for weight, times in matrices) * length
        + sum(_looked(layer, tok) * times for layer, times in layers.items()),
        pairs=sum(_pairs(layer, tok) * times for layer, times in layers.items()),
        params=sum(count.elems(weight) * weight.copies * n for weight, n in count.weights((tower,))),
        kernels=AROUND * sum(times for _, times in matrices),
    )


def work_of_counts(*, gmacs: float, mactivs: float, params_m: float | None) -> ImageWork:
    """The work as benchmark tables print it: 10^9 multiply-adds, 10^6 elements written."""
    return ImageWork(macs=gmacs * GIGA, acts=mactivs * MEGA, pairs=0.0, params=(params_m or 0.0) * MEGA)


def _looked(layer: Layer, tok: int) -> float:
    """Elements that attention itself writes."""
    return sum(
        count.places(layer, part, which="q", tok=tok) * mixer.heads * mixer.value_dim
        for mixer, part in ((layer.mixer, "attn"), (layer.cross, "cross"))
        if mixer is not None and mixer.heads
    )


def _written(weight: Weight) -> float:
    used = weight.copies if weight.used is None else weight.used
    return weight.shape[0] * weight.sites * used


def _pairs(layer: Layer, tok: int) -> float:
    return sum(
        _scores(mixer, layer, part=part, tok=tok)
        for mixer, part in ((layer.mixer, "attn"), (layer.cross, "cross"))
        if mixer is not None and mixer.heads
    )


def _scores(mixer: Mixer, layer: Layer, *, part: str, tok: int) -> float:
    queries = count.places(layer, part, which="q", tok=tok)
    keys = count.places(layer, part, which="k", tok=tok)
    seen = keys if mixer.window_tok is None else min(keys, mixer.window_tok)
    return float(mixer.heads) * queries * seen
