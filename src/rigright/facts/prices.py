"""Prices of chips: each with its kind, its date and its source. None is ever presented as today's."""

from __future__ import annotations

from datetime import date
from functools import cache

from rigright.base.plugins import read_facts
from rigright.base.record import dataclass
from rigright.base.tables import number, scaled, text, whole
from rigright.base.units import GIB
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


_READERS = {
    "chip": text,
    "mem_gib": scaled(GIB),
    "kind": text,
    "currency": text,
    "low": number,
    "typical": number,
    "high": number,
    "listings": whole,
    "as_of": text,
    "source": text,
    "confidence": text,
    "notes": text,
}


@cache
def prices() -> tuple[Price, ...]:
    """Every price of the table, in its order."""
    required = ("chip", "kind", "currency", "typical", "as_of", "source", "confidence")
    rows = read_facts("prices.csv", _READERS, required=required, chips=by_id)
    return tuple(
        Price(mem_bytes=row["mem_gib"], **{name: row[name] for name in _READERS if name != "mem_gib"})
        for row in rows
    )


@cache
def _by_chip() -> dict[str, tuple[Price, ...]]:
    found: dict[str, tuple[Price, ...]] = {}
    for price in prices():
        found[price.chip] = (*found.get(price.chip, ()), price)
    return found


def newest_prices(chip: Chip, *, currency: str = "USD", used: bool = False) -> tuple[Price, ...]:
    """What one card goes for: the newest half year of its market, used where it is made no more.

    `used`: used before new, where a used price is known. Rows in the buyer's currency go before others, and
    dated ones before those that name a year alone.
    """
    rows = _of(chip)
    new = () if chip.ended else (NEW, ("launch",))
    for kinds in ((USED,), *new) if chip.ended or used else new:
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
