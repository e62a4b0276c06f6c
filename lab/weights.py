"""How much a row counts: every source and metric alike, however many rows it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from rigright.verbs.validate.record import source_name

STRENGTH = 30.0  # rows that one metric of one source counts for at most, against what is known before


def row_weights(keys: Sequence[Mapping[str, str]], taught: np.ndarray | None = None) -> np.ndarray:
    """Weights of rows: those of one source and metric (or part of it) share what it counts for."""
    used = np.ones(len(keys), dtype=bool) if taught is None else taught
    units = [(source_name(key.get("source", "")), key.get("part") or key.get("metric", "")) for key in keys]
    sizes = Counter(unit for unit, use in zip(units, used, strict=True) if use)
    counts = np.array([sizes[unit] for unit in units], dtype=float)
    return np.where(used, np.minimum(1.0, STRENGTH / np.maximum(counts, 1)), 0.0)
