"""The work of a forward pass: multiplications by weights and reads of caches, summed over alike layers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache

from rigright.arch import count
from rigright.arch.record import Arch, Cut, Layer, Mixer, Weight
from rigright.arch.roles import is_matrix, part
from rigright.cost.memory_kv import lanes
from rigright.cost.weights import tensors
from rigright.facts.kv_formats import find_kv_format

KINDS = {"expert": "expert", "head": "head", "ffn": "ffn", "shared": "ffn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """Multiplications alike: all of one kind, cut alike, over all layers."""

    kind: str  # "attn", "ffn", "expert", "head"
    cut: Cut
    elems: float  # of the weights, all copies
    size_bytes: float
    calls: float  # matrices
    experts: int = (
        0  # of one layer, and how many of them a token goes through; 0: every token goes through all
    )
    per_tok: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a forward pass of one model in one format does."""

    gemms: tuple[Gemm, ...]
    mixers: tuple[tuple[Mixer, int], ...]  # what keeps a cache or a state, and in how many layers
    weights: str  # id of the format
    kv_elem_bytes: float
    layers: int
    moe_layers: int
    hidden: int
    vocab: int


@cache
def work_of(arch: Arch, *, weights: str, kv: str) -> Work:
    """Sum the weights of the trunk by kind and cut."""
    groups: dict[tuple[str, Cut, int, int], list[float]] = {}
    for weight, layer, size in tensors(arch, weights):
        if not _multiplies(weight, arch):
            continue
        experts, per_tok = _routed(weight, layer)
        group = groups.setdefault((_kind(weight), weight.cut, experts, per_tok), [0.0, 0.0, 0.0])
        group[0] += count.elems(weight) * weight.copies
        group[1] += size
        group[2] += 1
    trunk = arch.trunk
    return Work(
        gemms=tuple(
            Gemm(
                kind=kind,
                cut=cut,
                experts=experts,
                per_tok=per_tok,
                elems=elems,
                size_bytes=size,
                calls=calls,
            )
            for (kind, cut, experts, per_tok), (elems, size, calls) in groups.items()
        ),
        mixers=tuple(lanes(arch).items()),
        weights=weights,
        kv_elem_bytes=find_kv_format(kv).element_bytes,
        layers=len(trunk.layers),
        moe_layers=sum(times for layer, times in Counter(trunk.layers).items() if _is_moe(layer)),
        hidden=trunk.hidden,
        vocab=arch.vocab,
    )


def _multiplies(weight: Weight, arch: Arch) -> bool:
    return is_matrix(weight) or (arch.tied and weight.role == "embed")


def _kind(weight: Weight) -> str:
    return "head" if weight.role == "embed" else KINDS.get(part(weight), "attn")


def _routed(weight: Weight, layer: Layer | None) -> tuple[int, int]:
    if part(weight) != "expert" or layer is None or layer.ffn is None:
        return 0, 0
    return layer.ffn.experts, layer.ffn.per_tok


def _is_moe(layer: Layer) -> bool:
    return layer.ffn is not None and layer.ffn.experts > 0
