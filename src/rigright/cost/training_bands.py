"""How far a predicted training peak may be off: 80 % bands from runs that were left out of every fit."""

from __future__ import annotations

from rigright.demand import Numbers
from rigright.facts.corrections import corrections

KINDS = ("allocated", "reserved", "device", "rounded")


def band(kind: str, *, assumed: bool) -> tuple[float, float]:
    """Low and high as multiples of the estimate; wider where inputs had to be assumed."""
    row = corrections("memory_training")["bands"][kind]
    name = "assumed" if assumed else "told"
    low, high = row[name]
    return float(low), float(high)


def with_band(size: Numbers, kind: str, *, assumed: bool = False) -> tuple[Numbers, Numbers]:
    """Low and high of a size in bytes."""
    low, high = band(kind, assumed=assumed)
    return size * low, size * high
