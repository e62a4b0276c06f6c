"""Prices of what stands around the cards: memory, processors, boards, supplies, disks; and whole hosts."""

from __future__ import annotations

from functools import cache

from rigright.base.plugins import read_facts
from rigright.base.record import dataclass
from rigright.base.tables import DATA, number, read_rows, text, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPrice:
    """What somebody asked for one part of some size at one time."""

    kind: str  # "ram", "cpu", "board", "psu", "disk", "case", "cooler", "bridge", "chassis"
    variant: str  # of memory its generation ("ddr5-registered"), of processors and boards their socket
    size: float
    unit: str  # of the size: GB, cores, W, TB, each
    name: str
    condition: str  # "new" or "used"
    currency: str
    low: float | None
    typical: float
    high: float | None
    as_of: str
    source: str
    licence: str
    confidence: str
    left_out: str | None  # why it is no price to act on


@cache
def part_prices(kind: str, variant: str) -> tuple[PartPrice, ...]:
    """Every price of a kind, those that are left out too."""
    return tuple(row for row in all_part_prices() if (row.kind, row.variant) == (kind, variant))


@cache
def all_part_prices() -> tuple[PartPrice, ...]:
    """Every price of the table, in its order."""
    words = ("kind", "variant", "unit", "name", "condition", "currency", "as_of", "source", "licence")
    readers = {
        **dict.fromkeys((*words, "confidence", "left_out"), text),
        **dict.fromkeys(("size", "low", "typical", "high"), number),
    }
    required = tuple(name for name in readers if name not in {"variant", "low", "high", "left_out"})
    rows = read_rows(DATA / "part_prices.csv", readers, required=required)
    return tuple(PartPrice(**row | {"variant": row["variant"] or ""}) for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One line of what a host is made of."""

    kind: str
    variant: str
    size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HostParts:
    """What usually stands around so many cards, part by part."""

    around: str  # "desktop", "server", "baseboard", "used-baseboard", "superchip", "kit"
    cards: int  # that it holds
    parts: tuple[Need, ...]
    source: str
    as_of: str
    confidence: str
    notes: str | None


def _needs(cell: str) -> tuple[Need, ...]:
    """Read "cpu am5 8; psu 850; case tower"."""
    found = []
    for line in cell.split(";"):
        kind, *rest = line.split()
        size = float(rest.pop()) if rest[-1].isdecimal() else 1.0
        found.append(Need(kind=kind, variant=" ".join(rest), size=size))
    return tuple(found)


@cache
def hosts() -> tuple[HostParts, ...]:
    """Every host of the table; those of one kind from the smallest on."""
    words = ("around", "source", "as_of", "confidence", "notes")
    readers = {**dict.fromkeys(words, text), "cards": whole, "parts": _needs}
    rows = read_facts("hosts.csv", readers, required=("around", "cards", "parts", "source", "as_of"))
    return tuple(sorted((HostParts(**row) for row in rows), key=lambda host: host.cards))
