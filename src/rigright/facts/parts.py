"""Parts around the cards that one may buy: what each does, needs and costs, with date and source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.errors import DataError
from rigright.base.tables import DATA, number, read_rows, text, whole
from rigright.base.units import GIB, GIGA
from rigright.base.words import say

_BITS = 8
_SCALES = {"GB/s": GIGA, "GiB": GIB, "Gb/s": GIGA / _BITS, "W": 1.0, "": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartKind:
    """One kind of part."""

    id: str
    kind: str  # "nvme", "sata", "memory", "nic", "psu", "cooling", "riser", "sync"
    name: str
    rate: float | None  # bytes a second, bytes or watts, as its kind goes
    needs_gen: int | None  # PCIe
    needs_lanes: int | None
    power_w: float | None
    usd_low: float | None  # None: priced by its size in part_prices.csv
    usd_high: float | None
    source: str
    as_of: str
    confidence: str
    notes: str | None


@cache
def parts(kind: str) -> tuple[PartKind, ...]:
    """Every part of a kind, in the order of the table."""
    words = ("id", "kind", "name", "unit", "source", "as_of", "confidence", "notes")
    numbers = ("rate", "power_w", "usd_low", "usd_high")
    readers = {
        **dict.fromkeys(words, text),
        **dict.fromkeys(numbers, number),
        **dict.fromkeys(("needs_gen", "needs_lanes"), whole),
    }
    required = ("id", "kind", "name", "source", "as_of", "confidence")
    found = []
    for row in read_rows(DATA / "parts.csv", readers, required=required):
        unit = row.pop("unit") or ""
        if unit not in _SCALES:
            raise DataError(say("parts.csv: unknown unit {unit}", unit=unit))
        rate = None if row["rate"] is None else row["rate"] * _SCALES[unit]
        found.append(PartKind(**row | {"rate": rate}))
    return tuple(one for one in found if one.kind == kind)
