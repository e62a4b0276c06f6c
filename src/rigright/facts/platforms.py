"""Platforms: boards and servers that hold the cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, number, read_rows, scaled, text, whole
from rigright.base.units import GIB


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


_READERS = {
    "id": text,
    "kind": text,
    "name": text,
    "socket": text,
    "slots_min": whole,
    "slots_max": whole,
    "lanes": text,
    "gpus_min": whole,
    "gpus_max": whole,
    "mem_slots_min": whole,
    "mem_slots_max": whole,
    "mem_max_gib": scaled(GIB),
    "psu_count": whole,
    "psu_w": number,
    "system_w": number,
    "psu_redundancy": text,
    "price_min_usd": number,
    "price_max_usd": number,
    "source": text,
    "as_of": text,
    "confidence": text,
    "notes": text,
}
_REQUIRED = ("id", "kind", "name", "socket", "lanes", "source", "as_of", "confidence")


@cache
def platforms() -> tuple[Platform, ...]:
    """Every platform of the table, in its order."""
    rows = read_rows(DATA / "platforms.csv", _READERS, required=_REQUIRED)
    renamed = {"mem_max_gib": "mem_max_bytes"}
    return tuple(Platform(**{renamed.get(name, name): value for name, value in row.items()}) for row in rows)
