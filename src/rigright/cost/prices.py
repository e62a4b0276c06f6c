"""What things cost: currencies, and a price with its date and a band that widens with its age."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Any

from rigright.base.errors import AskError
from rigright.base.tables import DATA, read_toml
from rigright.base.words import say
from rigright.cost.estimate import Estimate
from rigright.facts.prices import Price, dated

DAYS_PER_YEAR = 365.25


@cache
def assumptions() -> Mapping[str, Any]:
    """What is taken where nobody says; the head of data/money.toml tells what each means."""
    return read_toml(DATA / "money.toml")


def from_currency(amount: float, currency: str) -> float:
    """An amount of another currency in USD, at the dated rate of the table."""
    known = assumptions()["currencies"]
    code = currency.upper()
    if code == "USD":
        return amount
    if code not in known:
        raise AskError(
            say(
                'no rate of the currency "{currency}" is known; there are: {known}',
                currency=currency,
                known=", ".join(["USD", *known]),
            )
        )
    return float(amount / known[code]["per_usd"])


def rate_of(currency: str) -> tuple[float, str]:
    """How much of a currency is a dollar, and the date of that rate."""
    known = assumptions()["currencies"][currency.upper()]
    return float(known["per_usd"]), str(known["as_of"])


def priced(price: Price, today: date) -> Estimate:
    """A price with its date and a band that widens with its age."""
    width = price_width(price.as_of, today)
    low = price.usd * (1 - width)
    return Estimate(
        value=price.usd,
        low=low if price.usd_min is None else min(low, price.usd_min),
        high=price.usd * (1 + width),
        mark="measured" if price.kind == "shop" else "stated",
        as_of=price.as_of,
        why=price.source,
    )


def price_width(as_of: str | None, today: date) -> float:
    """Half the width of a price's band: it grows with every year since its date."""
    table = assumptions()
    if as_of is None:
        return float(table["most_spread"])
    years = max((today - dated(as_of)).days, 0) / DAYS_PER_YEAR
    return float(min(table["price_spread"] + table["price_drift"] * years, table["most_spread"]))
