"""Money: what cards and hours cost, what owning comes to an hour, and dollars per million tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

import numpy as np

from rigright.base.errors import AskError
from rigright.base.tables import DATA, read_toml
from rigright.base.units import KILO, MEGA
from rigright.base.words import say
from rigright.cost.estimate import Estimate
from rigright.cost.power import pue_of
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.facts.prices import Price, dated

HOURS_PER_YEAR = 365.25 * 24
SECONDS_PER_H = 3600
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """What an owner pays for an hour, beside the machine."""

    usd_per_kwh: float
    pue: float  # power of the building over power of the machine
    years: float  # a machine is written off over
    duty: float  # share of the time it works


def tariff_of(segment: str, *, wished: Mapping[str, float | None]) -> Tariff:
    """The tariff somebody wished, with the table's assumption where nothing was said."""
    table = assumptions()
    return Tariff(
        usd_per_kwh=_told(wished.get("usd_per_kwh"), table["tariff_usd_per_kwh"]),
        pue=_told(wished.get("pue"), pue_of(table["places"].get(segment, "datacenter"))),
        years=_told(wished.get("years"), 3.0),
        duty=_told(wished.get("duty"), 1.0),
    )


def _told(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def machine_usd(cards_usd: Numbers, chip: Chip) -> Numbers:
    """Cards and the rest of the machine around them, by the stated share."""
    return cards_usd * (1 + assumptions()["rest_share"].get(chip.segment, 0.0))


def write_off_usd_per_h(usd: Numbers, tariff: Tariff) -> Numbers:
    """What a bought machine costs for each hour it works."""
    return usd / (tariff.years * HOURS_PER_YEAR * tariff.duty)


def power_usd_per_h(power_w: Numbers, tariff: Tariff) -> Numbers:
    """What an hour of work draws, the building included."""
    return power_w / KILO * tariff.pue * tariff.usd_per_kwh


def usd_per_mtok(usd_per_h: Numbers, tok_per_s: Numbers) -> Numbers:
    """Dollars for a million tokens at so many tokens a second."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return usd_per_h / (np.asarray(tok_per_s, dtype=float) * SECONDS_PER_H) * MEGA


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
