"""Money by the hour: what owning and power come to, and dollars per million tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rigright.base.units import KILO, MEGA
from rigright.cost.power import pue_of
from rigright.cost.prices import assumptions
from rigright.demand import Numbers
from rigright.facts.chips import Chip

HOURS_PER_YEAR = 365.25 * 24
SECONDS_PER_H = 3600


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
