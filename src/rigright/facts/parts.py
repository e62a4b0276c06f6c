"""Parts around the cards that one may buy, and the boards and servers that hold the cards."""

from __future__ import annotations

from functools import cache

from rigright.base.errors import DataError
from rigright.base.loader import records
from rigright.base.record import dataclass, replace
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
    unit: str = ""  # of its rate in the table
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
    return tuple(_in_si(part_kind) for part_kind in records("parts.csv", PartKind) if part_kind.kind == kind)


def _in_si(row: PartKind) -> PartKind:
    if row.unit not in _SCALES:
        raise DataError(say("parts.csv: unknown unit {unit}", unit=row.unit))
    return row if row.rate is None else replace(row, rate=row.rate * _SCALES[row.unit])


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A board, a class of boards, a server or a rack. Ranges carry both ends; None is unknown."""

    id: str
    kind: str  # "board-class", "board", "server-class", "rack"
    name: str
    socket: str
    slots_min: int | None  # x16 slots or sockets for cards
    slots_max: int | None
    lanes: str
    gpus_min: int | None  # how many two-slot cards stand in it
    gpus_max: int | None
    mem_slots_min: int | None
    mem_slots_max: int | None
    mem_max_bytes: float | None
    psu_count: int | None
    psu_w: float | None  # of each
    system_w: float | None  # the whole machine at most
    psu_redundancy: str | None
    price_min_usd: float | None
    price_max_usd: float | None
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def gpus(self) -> str | None:
        """How many cards of two slots stand in it: "2-4", "8"."""
        return _span(self.gpus_min, self.gpus_max)

    @property
    def slots(self) -> str | None:
        """Its x16 slots or sockets for cards: "4-7"."""
        return _span(self.slots_min, self.slots_max)

    @property
    def mem_slots(self) -> str | None:
        """Its slots for main memory: "8-16"."""
        return _span(self.mem_slots_min, self.mem_slots_max)

    @property
    def price_usd(self) -> str | None:
        """What it costs: "500-900"."""
        return _span(self.price_min_usd, self.price_max_usd)


def _span(least: float | None, most: float | None) -> str | None:
    """Both ends of a range."""
    if least is None or most is None:
        return None
    return f"{least:,.0f}" if least == most else f"{least:,.0f}-{most:,.0f}"


@cache
def platforms() -> tuple[Platform, ...]:
    """Every platform of the table, in its order."""
    return records("platforms.csv", Platform)
