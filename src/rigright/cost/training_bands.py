"""80 % bands of training peaks, from runs whose source was left out of the fit."""

from __future__ import annotations

from rigright.facts.corrections import corrections

KINDS = ("allocated", "reserved", "device", "rounded")
COUNTED = frozenset({"allocated", "reserved", "device"})  # told by a program, not by hand


def band(kind: str, *, assumed: bool, narrow: float = 1.0) -> tuple[float, float]:
    """Low and high as multiples of the estimate; wider where inputs were assumed, narrower by own peaks."""
    edges = corrections("memory_training")["bands"]
    low, high = edges[f"{kind}_assumed" if assumed and kind in COUNTED else kind]
    return float(low) ** narrow, float(high) ** narrow
