"""Time of collectives: start-ups plus bytes over the slowest link, for any number of ranks.

A message takes the fastest protocol: one with little latency and part of the bandwidth, one with more
latency and all of it, and for all-reduce the engines' own kernels, where each rank reads all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Numbers
from rigright.facts.fabrics import ChipLinks


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How ranks reach each other: inside a domain, between the domains of a box, between boxes."""

    bytes_per_s: Numbers  # one way and rank, inside a domain, as reached by a collective of many bytes
    start_s: Numbers  # one message
    domain: Numbers  # ranks that such a wire joins
    outer_bytes_per_s: Numbers  # one way and rank, between boxes
    outer_start_s: Numbers
    hop_s: Numbers = 0.0  # each rank that a message is handed on to
    low_share: Numbers = 1.0  # of the rate, by the protocol for few bytes
    bulk_start_s: Numbers = 0.0  # what the protocol for many bytes adds
    lead: Numbers = 0.0  # bytes handled more than once: nearly twice with two ranks, hardly with many
    crowd: Numbers = 0.0  # how ranks that share a hub slow each other: power of their number over two
    mesh: Numbers = False  # links go to one neighbour each: few ranks use few of them
    quick_start_s: Numbers = np.inf  # a sum in one kernel, each rank reading all others
    quick_share: Numbers = 1.0
    pair_start_s: Numbers = 0.0  # what the same in two halves adds
    pair_share: Numbers = 1.0
    box: Numbers = 0  # ranks of a box where that is more than a domain
    box_bytes_per_s: Numbers = 1.0
    box_start_s: Numbers = 0.0


INNER = ("start_s", "hop_s", "low_share", "bulk_start_s", "lead", "crowd", "quick_share", "pair_start_s")


def wire_of_fabrics(
    fabrics: Sequence[ChipLinks], *, engine: str | None = None, tables: Mapping[str, Any]
) -> Wire:
    """The wires of chips, in their order: each figure an array over them.

    An engine brings its own kernels for small sums (see links.toml); without one it is NCCL and its like.
    """
    inner = [_terms(tables["fabrics"], "all", fabric.kind, fabric.id) for fabric in fabrics]
    across = [_terms(tables["fabrics"], "all", fabric.box_id) for fabric in fabrics]
    outer = [_terms(tables["networks"], "all", fabric.network.kind) for fabric in fabrics]
    kernels = {"quick": np.inf} | dict(tables["engines"].get(engine or "", {}))
    return Wire(
        bytes_per_s=_column(fabrics, "bytes_per_s") * _terms_of(inner, "share"),
        domain=_column(fabrics, "domain"),
        mesh=np.array([fabric.kind == "mesh" for fabric in fabrics]),
        quick_start_s=_terms_of(inner, "quick_start_s") * kernels["quick"],
        pair_share=_terms_of(inner, "pair_share"),
        box=_column(fabrics, "box"),
        box_bytes_per_s=_column(fabrics, "box_bytes_per_s") * _terms_of(across, "share"),
        box_start_s=_terms_of(across, "start_s"),
        outer_bytes_per_s=_column(fabrics, "network_bytes_per_s") * _terms_of(outer, "share"),
        outer_start_s=_terms_of(outer, "start_s"),
        **{name: _terms_of(inner, name) for name in INNER},
    )


def _terms(table: Mapping[str, Mapping[str, float]], *names: str) -> dict[str, float]:
    """The narrower name wins."""
    merged: dict[str, float] = {}
    for name in names:
        merged |= table.get(name, {})
    return merged


def _terms_of(terms: Sequence[Mapping[str, float]], name: str) -> np.ndarray:
    return np.array([term[name] for term in terms], dtype=float)


def _column(fabrics: Sequence[ChipLinks], name: str) -> np.ndarray:
    return np.array([getattr(fabric, name) for fabric in fabrics], dtype=float)


def all_reduce_s(
    size_bytes: Numbers, ranks: Numbers, *, wire: Wire, inside: Numbers | None = None
) -> Numbers:
    """Everybody ends with the sum. `inside`: ranks that share a domain, where not as many as can."""
    return _collective_s(size_bytes, ranks, wire=wire, inside=inside, rounds=2)


def all_gather_s(
    size_bytes: Numbers, ranks: Numbers, *, wire: Wire, inside: Numbers | None = None
) -> Numbers:
    """Everybody ends with the whole of `size_bytes`; a reduce-scatter takes as long."""
    return _collective_s(size_bytes, ranks, wire=wire, inside=inside, rounds=1)


def all_to_all_s(
    size_bytes: Numbers, ranks: Numbers, *, wire: Wire, inside: Numbers | None = None
) -> Numbers:
    """Everybody sends an equal part of its `size_bytes` to each."""
    ranks, inner, boxed = _levels(ranks, wire=wire, inside=inside)
    within = size_bytes * (inner + wire.lead) / ranks * (inner - 1) / inner
    alone_s = within / _rate(inner, wire)
    low_s, bulk_s = alone_s / wire.low_share, alone_s + wire.bulk_start_s
    between_s = size_bytes * (boxed - inner) / ranks / wire.box_bytes_per_s
    outside_s = size_bytes * (ranks - boxed) / ranks / wire.outer_bytes_per_s
    starts_s = wire.start_s + _further_s(ranks, inner, boxed=boxed, wire=wire)
    wires_s = np.maximum(np.minimum(low_s, bulk_s), np.maximum(between_s, outside_s))
    return np.where(ranks > 1, starts_s + wires_s, 0.0)


def send_s(size_bytes: Numbers, *, wire: Wire, outer: Numbers = False) -> Numbers:
    """One rank to its neighbour."""
    rate = np.where(outer, wire.outer_bytes_per_s, _rate(2, wire))
    return size_bytes / rate + np.where(outer, wire.outer_start_s, wire.start_s)


def _collective_s(
    size_bytes: Numbers, ranks: Numbers, *, wire: Wire, inside: Numbers | None, rounds: int
) -> Numbers:
    """A ring, `rounds` times round; where it leaves a domain, the slowest wire holds up the others."""
    ranks, inner, boxed = _levels(ranks, wire=wire, inside=inside)
    whole_s = size_bytes / _rate(inner, wire)
    sent_s = rounds * (1 - 1 / inner) * whole_s
    ring_s = sent_s * (1 + wire.lead / inner)
    inner_s = np.minimum(ring_s / wire.low_share, ring_s + wire.bulk_start_s)
    inner_s = inner_s + (wire.start_s + rounds * (inner - 1) * wire.hop_s)
    if rounds > 1:
        at_once_s = (inner - 1) / wire.quick_share * whole_s
        halves_s = sent_s / wire.pair_share + wire.pair_start_s
        inner_s = np.minimum(inner_s, np.minimum(at_once_s, halves_s) + wire.quick_start_s)
    outer_bytes = rounds * (1 - 1 / ranks) * size_bytes
    between_s = np.where(boxed > inner, outer_bytes / wire.box_bytes_per_s, 0.0)
    outside_s = np.where(ranks > boxed, outer_bytes / (inner * wire.outer_bytes_per_s), 0.0)
    wires_s = np.maximum(np.where(inner > 1, inner_s, 0.0), np.maximum(between_s, outside_s))
    return np.where(ranks > 1, wires_s + _further_s(ranks, inner, boxed=boxed, wire=wire), 0.0)


def _levels(
    ranks: Numbers, *, wire: Wire, inside: Numbers | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks in all, of a domain, and of a box."""
    ranks = np.maximum(np.asarray(ranks, dtype=float), 1)
    most = np.maximum(wire.domain, 1) if inside is None else np.maximum(inside, 1)
    inner = np.minimum(ranks, most)
    # domains of a box
    boxes = np.maximum(np.asarray(wire.box) / np.maximum(wire.domain, 1), 1)
    return ranks, inner, np.minimum(ranks, np.maximum(inner * boxes, inner))


def _rate(inner: Numbers, wire: Wire) -> Numbers:
    alone = np.maximum(inner, 2)
    used = np.where(wire.mesh, (alone - 1) / np.maximum(np.asarray(wire.domain) - 1, 1), 1.0)
    return wire.bytes_per_s * used / (alone / 2) ** wire.crowd


def _further_s(ranks: Numbers, inner: Numbers, *, boxed: Numbers, wire: Wire) -> Numbers:
    """Start-ups beyond the domain: a tree of the domains, then of the boxes."""
    domains, boxes = np.ceil(boxed / inner), np.ceil(ranks / boxed)
    return np.log2(domains) * wire.box_start_s + np.log2(boxes) * wire.outer_start_s
