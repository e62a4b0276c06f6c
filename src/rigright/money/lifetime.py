"""Cost of a machine over years: what is paid when, its resale value, and when buying pays off.

Prices are bands. `payback` takes each price at many equally likely points of its band and counts, so the
same question always has the same answer, and bands of zero width give one month.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from rigright.base.record import dataclass
from rigright.cost.estimate import Estimate, added, scaled
from rigright.money.prices import kept_share
from rigright.money.tariff import HOURS_PER_YEAR

MONTHS_PER_YEAR = 12
HOURS_PER_MONTH = HOURS_PER_YEAR / MONTHS_PER_YEAR  # 730.5
FREE = Estimate(value=0.0, low=0.0, high=0.0, mark="stated")
TENTH = 1.2816  # standard deviations from the middle to the edge of an 80 % band
POINTS = 31  # of each band


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A stretch of months with one machine or one contract."""

    start: float  # month
    upfront: Estimate = FREE
    monthly: Mapping[str, Estimate]  # by what it is for: "power", "idle", "rent", "space" ...
    resale: Estimate = FREE  # what the machine brings when the term ends

    @property
    def month_usd(self) -> float:
        """What a month costs, all together."""
        return sum(estimate.value for estimate in self.monthly.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """One way to have the work done for so many months."""

    terms: tuple[Term, ...]
    months: float

    def _length(self, place: int) -> float:
        """Months of one term."""
        ends = [term.start for term in self.terms[1:]] + [self.months]
        return max(ends[place] - self.terms[place].start, 0.0)

    def paid(self, month: float) -> Estimate:
        """All that is paid until a month; what old machines brought is taken off."""
        parts = [FREE]
        for place, term in enumerate(self.terms):
            if term.start > month:
                continue
            length = min(month - term.start, self._length(place))
            parts.append(term.upfront)
            parts += [scaled(estimate, length) for estimate in term.monthly.values()]
            if place + 1 < len(self.terms) and self.terms[place + 1].start <= month:
                parts.append(scaled(term.resale, -1.0))
        return added(parts)

    @property
    def resale(self) -> Estimate:
        """What is left at the end."""
        return self.terms[-1].resale

    @property
    def total(self) -> Estimate:
        """All that is paid, less what machines still bring: who pays much for one sells it for more, too."""
        parts = [FREE]
        for place, term in enumerate(self.terms):
            parts += [scaled(estimate, self._length(place)) for estimate in term.monthly.values()]
            resale, price = term.resale, term.upfront.value
            kept = resale.value / price if price else 0.0
            parts.append(scaled(term.upfront, 1 - kept))
            parts.append(
                Estimate(value=price * kept - resale.value, low=resale.value - resale.high,
                         high=resale.value - resale.low)
            )  # fmt: skip
        return added(parts)

    @property
    def shares(self) -> dict[str, Estimate]:
        """The total by what it was paid for; what machines brought is below zero."""
        estimates: dict[str, list[Estimate]] = {}
        for place, term in enumerate(self.terms):
            estimates.setdefault("machine", []).append(term.upfront)
            for name, estimate in term.monthly.items():
                estimates.setdefault(name, []).append(scaled(estimate, self._length(place)))
            estimates.setdefault("resale", []).append(scaled(term.resale, -1.0))
        return {name: total for name, parts in estimates.items() if (total := added(parts)).value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Payback:
    """When what was paid up front has been saved."""

    months: float  # at the prices as they are known; inf: never
    low: float  # in one case of ten it is earlier
    high: float  # in one case of ten it is later; inf: perhaps never
    share: float  # of cases in which it is within the years


def payback(upfront: Estimate, *, own: Estimate, other: Estimate, months: float) -> Payback:
    """When a machine has paid for itself: its price over what a month of it saves against another way."""
    price = points(upfront)[:, None, None]
    saved = points(other)[None, :, None] - points(own)[None, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        after = np.where(saved > 0, price / saved, np.inf).ravel()
    central = other.value - own.value
    low, high = (float(np.quantile(after, share, method="nearest")) for share in (0.1, 0.9))
    return Payback(
        months=upfront.value / central if central > 0 else math.inf,
        low=low,
        high=high,
        share=float(np.mean(after <= months)),
    )


def chance(own: Ledger, other: Ledger) -> float:
    """The share of cases in which all the years of one way cost less than those of another."""
    mine, theirs = own.total, other.total
    return float(np.mean(_line(mine)[:, None] < _line(theirs)[None, :]))


def _line(estimate: Estimate) -> np.ndarray:
    """Equally likely points of a total, which may lie below zero: normal, each side by its own end."""
    normal = _normal()
    side = np.where(normal < 0, estimate.value - estimate.low, estimate.high - estimate.value)
    return np.asarray(estimate.value + side * normal / TENTH)


def points(estimate: Estimate) -> np.ndarray:
    """An estimate at equally likely points of its band: normal in the logarithm, each side by its own end."""
    if estimate.low == estimate.high or estimate.low <= 0:
        return np.array([estimate.value])
    normal = _normal()
    below, above = math.log(estimate.value / estimate.low), math.log(estimate.high / estimate.value)
    return np.asarray(estimate.value * np.exp(np.where(normal < 0, below, above) * normal / TENTH))


@cache
def _normal() -> np.ndarray:
    from statistics import NormalDist

    return np.array([NormalDist().inv_cdf((place + 0.5) / POINTS) for place in range(POINTS)])


def resale_of(usd: Estimate, years: float, *, segment: str, used: bool = False) -> Estimate:
    """What a machine of so many dollars brings after some years."""
    kept = kept_share(years, segment=segment, used=used)
    return Estimate(
        value=usd.value * kept["usual"], low=usd.value * kept["fast"], high=usd.value * kept["slow"],
        mark="stated",
    )  # fmt: skip
