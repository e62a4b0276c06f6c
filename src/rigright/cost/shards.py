"""The share of each weight, KV cache and layer on one rank under tp, ep and pp; no other file splits them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rigright.arch.record import Cut
from rigright.demand import Layout, Numbers

ByCut = dict[Cut, float]  # bytes of weights, by how they are split


def share(cut: Cut, layout: Layout, *, kv_heads: int = 1) -> Numbers:
    """The part of a weight that one rank holds."""
    tp = np.asarray(layout.tp, dtype=float)
    attention_tp = np.ones_like(tp) if layout.attention_dp else tp
    if cut == Cut.WHOLE:
        return np.ones_like(tp)
    if cut == Cut.KV:
        return 1 / np.minimum(attention_tp, max(kv_heads, 1))
    if cut == Cut.EXPERT:
        ep = np.asarray(layout.ep, dtype=float)
        return 1 / np.where(ep > 1, np.maximum(ep, tp), tp)
    return 1 / attention_tp


def attention_share(layout: Layout) -> Numbers:
    """The part of the query heads that one rank computes."""
    return (
        np.ones_like(np.asarray(layout.tp, dtype=float)) if layout.attention_dp else 1 / np.asarray(layout.tp)
    )


def cache_share(layout: Layout, *, kv_heads: int, latent: bool) -> Numbers:
    """The part of each cache entry that one rank keeps: a latent is kept whole by all."""
    whole = np.ones_like(np.asarray(layout.tp, dtype=float))
    heads = whole if latent else share(Cut.KV, layout, kv_heads=kv_heads)
    return heads / np.asarray(layout.cp)


def stage_bounds(layers: int, stages: int) -> tuple[tuple[int, int], ...]:
    """First and past-last layer of each pipeline stage: even, the rest to the stages before the last."""
    base, rest = divmod(layers, stages)
    sizes = [base] * stages
    for index in range(rest):
        sizes[-2 - index if stages > 1 else -1] += 1
    ends = np.cumsum(sizes)
    return tuple((int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True))


def merged(parts: Iterable[ByCut]) -> ByCut:
    """All of them together, cut by cut."""
    total: ByCut = {}
    for by_cut in parts:
        for cut, size in by_cut.items():
            total[cut] = total.get(cut, 0) + size
    return total
