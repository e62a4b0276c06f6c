"""Time of collectives: so many start-ups and so many bytes over the slowest wire, for any number of ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rigright.demand import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How ranks reach each other: inside a domain of `domain` ranks, and between domains."""

    bytes_per_s: Numbers  # one way and rank, inside a domain, as reached by a collective
    start_s: Numbers  # one message
    domain: Numbers  # ranks that such a wire joins
    outer_bytes_per_s: Numbers  # one way and rank, between domains
    outer_start_s: Numbers


def all_reduce_s(size_bytes: Numbers, ranks: Numbers, *, wire: Wire) -> Numbers:
    """Everybody ends with the sum: scatter of sums, then a gather."""
    return 2 * all_gather_s(size_bytes, ranks, wire=wire)


def all_gather_s(size_bytes: Numbers, ranks: Numbers, *, wire: Wire) -> Numbers:
    """Everybody ends with the whole of `size_bytes`; a reduce-scatter takes as long."""
    ranks = np.asarray(ranks, dtype=float)
    inner = np.minimum(ranks, wire.domain)
    outer = np.ceil(ranks / np.maximum(inner, 1))
    return _ring_s(size_bytes, inner, bytes_per_s=wire.bytes_per_s, start_s=wire.start_s) + _ring_s(
        size_bytes, outer, bytes_per_s=wire.outer_bytes_per_s, start_s=wire.outer_start_s
    )


def all_to_all_s(size_bytes: Numbers, ranks: Numbers, *, wire: Wire) -> Numbers:
    """Everybody sends an equal part of its `size_bytes` to each."""
    ranks = np.maximum(np.asarray(ranks, dtype=float), 1)
    inner = np.minimum(ranks, wire.domain)
    inside = size_bytes * (inner - 1) / ranks / wire.bytes_per_s
    outside = size_bytes * (ranks - inner) / ranks / wire.outer_bytes_per_s
    starts = np.where(ranks > inner, wire.outer_start_s, wire.start_s)
    return np.where(ranks > 1, inside + outside + starts, 0.0)


def send_s(size_bytes: Numbers, *, wire: Wire, outer: Numbers = False) -> Numbers:
    """One rank to its neighbour."""
    rate = np.where(outer, wire.outer_bytes_per_s, wire.bytes_per_s)
    return size_bytes / rate + np.where(outer, wire.outer_start_s, wire.start_s)


def _ring_s(size_bytes: Numbers, ranks: Numbers, *, bytes_per_s: Numbers, start_s: Numbers) -> Numbers:
    return np.where(ranks > 1, (ranks - 1) / ranks * size_bytes / bytes_per_s + start_s, 0.0)
