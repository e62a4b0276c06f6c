"""Prices of chips: each with its kind, its date and its source. None is ever presented as today's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache

from rigright.base.tables import DATA, number, read_rows, text, whole

STALE_DAYS = 180
_MID_YEAR, _MID_MONTH = 7, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What somebody asked for one card at one time."""

    chip: str  # an id of chips.csv
    kind: str  # "launch": the maker's price then; "shop": a median of shop listings; "claim": somebody's word
    usd: float
    usd_min: float | None  # the cheapest listing
    listings: int | None
    as_of: str  # "2025-07-23", "2025-07" or "2025"
    source: str
    confidence: str
    notes: str | None


@cache
def prices() -> tuple[Price, ...]:
    """Every price of the table, in its order."""
    readers = {
        "chip": text,
        "kind": text,
        "usd": number,
        "usd_min": number,
        "listings": whole,
        "as_of": text,
        "source": text,
        "confidence": text,
        "notes": text,
    }
    required = ("chip", "kind", "usd", "as_of", "source", "confidence")
    return tuple(Price(**row) for row in read_rows(DATA / "prices.csv", readers, required=required))


def latest_price(chip: str) -> Price | None:
    """The newest price of a card: of shops if there is one, else the maker's."""
    known = [price for price in prices() if price.chip == chip and price.kind in {"shop", "launch"}]
    return max(known, key=lambda price: (price.kind == "shop", dated(price.as_of)), default=None)


def dated(as_of: str) -> date:
    """A date that may name only the month or the year, taken in the middle of it."""
    parts = [int(part) for part in as_of.split("-")]
    year, month, day = (*parts, *(_MID_YEAR, _MID_MONTH)[len(parts) - 1 :]) if len(parts) < 3 else parts
    return date(year, month, day)


def is_stale(as_of: str | None, today: date) -> bool:
    """Whether a price is too old to act on; one without a date is."""
    return as_of is None or (today - dated(as_of)).days > STALE_DAYS
