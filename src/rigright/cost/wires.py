"""Links between chips: the bandwidth their fabric states, times the share that collectives reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rigright.cost.links import Wire
from rigright.facts.fabrics import ChipLinks

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
