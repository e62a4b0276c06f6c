"""Prices of chips and of what stands around them, each with its kind, its date and its source.

None is ever presented as today's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache

from rigright.base.loader import records, rows
from rigright.base.plugins import read_facts
from rigright.base.record import dataclass
from rigright.facts.chips import Chip, by_id

STALE_DAYS = 180
USED, OWN, OWN_USED, OWN_RENT = "used", "own", "own-used", "own-rent"
OWNS = frozenset({OWN, OWN_USED, OWN_RENT})
NEW = ("shop", "street")  # what a new card goes for; only where neither is known, what its maker asked
_MID_YEAR, _MID_MONTH = 7, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What somebody asked for one card at one time, in the currency of that market."""

    chip: str  # an id of chips.csv
    mem_bytes: float | None = None  # of machines that are sold with several sizes of memory
    kind: str  # "launch": the maker's price then; "shop": a median of shop listings; "street": a new card
    # as somebody reports it; "used": a used card; "claim": somebody's word; "own", "own-used": the user's;
    # "own-rent": what the user pays for an hour of one
    currency: str = "USD"
    low: float | None = None  # the cheapest listing, or the low end of what is reported
    typical: float
    high: float | None = None
    listings: int | None = None
    as_of: str  # "2025-07-23", "2025-07" or "2025"
    source: str
    confidence: str
    notes: str | None = None
    provider: str | None = None  # who rents it out, of the user's own


@cache
def prices() -> tuple[Price, ...]:
    """Every price of the table, in its order."""
    return read_facts("prices.csv", Price, chips=by_id)


@cache
def _by_chip() -> dict[str, tuple[Price, ...]]:
    result: dict[str, tuple[Price, ...]] = {}
    for price in prices():
        result[price.chip] = (*result.get(price.chip, ()), price)
    return result


def newest_prices(chip: Chip, *, currency: str = "USD", used: bool | None = None) -> tuple[Price, ...]:
    """What one card goes for: the newest half year of its market, used where it is made no more.

    `used`: used before new, where a used price is known; False: new, though it is made no more.
    Rows in the buyer's currency go before others, and dated ones before those that name a year alone.
    """
    rows = _of(chip)
    new = () if chip.ended and used is not False else (NEW, ("launch",))
    for kinds in ((USED,), *new) if used or (used is None and chip.ended) else new:
        known = [price for price in rows if price.kind in kinds]
        known = [price for price in known if price.currency == currency] or known
        known = [price for price in known if "-" in price.as_of] or known
        if known:
            newest = max(dated(price.as_of) for price in known)
            recent = [price for price in known if (newest - dated(price.as_of)).days <= STALE_DAYS]
            return tuple(sorted(recent, key=lambda price: dated(price.as_of), reverse=True))
    return ()


def _of(chip: Chip) -> list[Price]:
    """Its prices; one that names no memory is that of the least which such machines are sold with."""
    least = min(chip.mem_options_bytes, default=chip.mem_bytes)
    return [
        price
        for price in _by_chip().get(chip.id, ())
        if (least if price.mem_bytes is None else price.mem_bytes) == chip.mem_bytes
        or (price.mem_bytes is None and not chip.mem_options_bytes)
    ]


def price_when_new(chip: Chip) -> Price | None:
    """What a new one went for: the last time that somebody said so, else what its maker asked at first."""
    rows = _of(chip)
    sold = [row for row in rows if row.kind in NEW]
    if sold:
        return max(sold, key=lambda row: dated(row.as_of))
    return min((row for row in rows if row.kind == "launch"), key=lambda row: dated(row.as_of), default=None)


def dated(as_of: str) -> date:
    """A date that may name only the month or the year, taken in the middle of it."""
    parts = [int(part) for part in as_of.split("-")]
    year, month, day = (*parts, *(_MID_YEAR, _MID_MONTH)[len(parts) - 1 :]) if len(parts) < 3 else parts
    return date(year, month, day)


def is_stale(as_of: str | None, today: date) -> bool:
    """Whether a price is too old to act on; one without a date is."""
    return as_of is None or (today - dated(as_of)).days > STALE_DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPrice:
    """What somebody asked for one part of some size at one time."""

    kind: str  # "ram", "cpu", "board", "psu", "disk", "case", "cooler", "bridge", "chassis"
    variant: str = ""  # of memory its generation ("ddr5-registered"), of processors and boards their socket
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
    return records("part_prices.csv", PartPrice)


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
    needs = []
    for line in cell.split(";"):
        kind, *rest = line.split()
        size = float(rest.pop()) if rest[-1].isdecimal() else 1.0
        needs.append(Need(kind=kind, variant=" ".join(rest), size=size))
    return tuple(needs)


@cache
def hosts() -> tuple[HostParts, ...]:
    """Every host of the table; those of one kind from the smallest on."""
    read = read_facts("hosts.csv", HostParts, read={"parts": _needs})
    return tuple(sorted(read, key=lambda host: host.cards))


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLine:
    """One line of an order, with what it is priced by: its own range, or a row of the prices."""

    kind: str  # "cpu" is priced by its name, the others by kind, variant and size
    variant: str = ""
    size: float = 1.0
    count: int = 1
    low: float | None = None  # dollars of one, where the part's own row says so
    high: float | None = None
    as_of: str | None = None

    @property
    def written(self) -> str:
        """As the table holds it: "2 psu 180..220 2026-11", "1 ram ddr4 64"."""
        if self.low is not None and self.high is not None:
            return f"{self.count} {self.kind} {self.low:g}..{self.high:g} {self.as_of or '-'}"
        return f"{self.count} {self.kind} {self.variant} {self.size:g}"


@cache
def read_line(written: str) -> OrderLine:
    """The other way round."""
    count, kind, *rest, last = written.split(" ")
    if rest and ".." in rest[0]:
        low, _, high = rest[0].partition("..")
        dated = None if last == "-" else last
        return OrderLine(kind=kind, count=int(count), low=float(low), high=float(high), as_of=dated)
    return OrderLine(kind=kind, count=int(count), variant=" ".join(rest), size=float(last))


@cache
def orders(host: str = "") -> Mapping[tuple[str, int], tuple[OrderLine, ...]]:
    """Chip and cards of one machine -> what `build` puts around them: a search puts none together.

    Disks are left out; there is none for what cannot be built. `host`: words of `ram_hosts`, with which it is
    built; none: with what cards need.
    """
    order_lines: dict[tuple[str, int], tuple[OrderLine, ...]] = {}
    for words, cards, written in rows("orders.csv", "host", "cards", "lines"):
        if words != host:
            continue
        lines = tuple(read_line(text) for text in written.split("; "))
        for machine in cards.split("; "):
            chip, *counts = machine.split(" ")
            order_lines |= {(chip, int(count)): lines for count in counts}
    return order_lines
