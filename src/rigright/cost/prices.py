"""What things cost: a price with its date and a band that widens with its age."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from typing import Any

from rigright.base.money import from_currency
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.cost.estimate import Estimate
from rigright.facts.chips import Chip
from rigright.facts.prices import USED, Price, dated, newest_prices

DAYS_PER_YEAR = 365.25


@cache
def assumptions() -> Mapping[str, Any]:
    """What is taken where nobody says; the head of data/money.toml tells what each means."""
    return read_toml(DATA / "money.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What one card is bought for: the median of what is asked, with the range of it, in dollars."""

    chip: str
    usd: float
    usd_low: float
    usd_high: float
    used: bool
    mark: str  # "measured" in shops, else "stated"
    as_of: str  # of the newest row
    source: str
    currency: str  # of the rows


def quote_of(chip: Chip, *, currency: str = "USD") -> Quote | None:
    """What a card is bought for on its market; None where nobody says."""
    rows = newest_prices(chip, currency=currency)
    return quoted(rows) if rows else None


def quoted(rows: Sequence[Price]) -> Quote:
    """Prices of one chip, the newest first, as one."""
    from statistics import median

    newest = rows[0]
    found = [from_currency(row.typical, row.currency) for row in rows]
    ends = [
        from_currency(end, row.currency) for row in rows for end in (row.low, row.high) if end is not None
    ]
    return Quote(
        chip=newest.chip,
        usd=median(found),
        usd_low=min(found + ends),
        usd_high=max(found + ends),
        used=newest.kind == USED,
        mark="measured" if newest.kind == "shop" else "stated",
        as_of=newest.as_of,
        source="; ".join(dict.fromkeys(row.source for row in rows)),
        currency=newest.currency,
    )


def priced(quote: Quote, today: date) -> Estimate:
    """A price with its date and a band: what was asked, wider with its age."""
    width = price_width(quote.as_of, today)
    return Estimate(
        value=quote.usd,
        low=min(quote.usd * (1 - width), quote.usd_low),
        high=max(quote.usd * (1 + width), quote.usd_high),
        mark=quote.mark,
        as_of=quote.as_of,
        why=quote.source,
    )


def price_width(as_of: str | None, today: date) -> float:
    """Half the width of a price's band: it grows with every year since its date."""
    table = assumptions()
    if as_of is None:
        return float(table["most_spread"])
    years = max((today - dated(as_of)).days, 0) / DAYS_PER_YEAR
    return float(min(table["price_spread"] + table["price_drift"] * years, table["most_spread"]))
