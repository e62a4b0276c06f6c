"""An estimate: a predicted figure with low and high, and its basis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rigright.base.record import Inner, Sparse, dataclass

SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Four of five measured runs should lie between low and high."""

    value: float
    low: float
    high: float
    mark: str = "fitted"  # "measured", "fitted" on runs of such chips, or "physics" alone
    as_of: Sparse[str | None] = None  # of prices
    why: Inner[str] = ""  # id of the law or fact it follows from


def spread(value: float, ratios: tuple[float, float], *, mark: str = "fitted") -> Estimate:
    """A value with its band told as ratios: measured over predicted."""
    low, high = ratios
    return Estimate(value=value, low=value * low, high=value * high, mark=mark)


def days_of(amount: float, rate: Estimate) -> Estimate:
    """The days that so many take at so many a second."""
    value, low, high = (amount / each / SECONDS_PER_DAY for each in (rate.value, rate.high, rate.low))
    return Estimate(value=value, low=low, high=high, mark=rate.mark)


def over(amount: float, rate: Estimate) -> Estimate:
    """So much at such a rate: seconds, where that is of a second."""
    value, low, high = (amount / each for each in (rate.value, rate.high, rate.low))
    return Estimate(value=value, low=low, high=high, mark=rate.mark)


def added(parts: Sequence[Estimate]) -> Estimate:
    """A sum of what has nothing to do with each other: seldom is all of it dear at once."""
    value = sum(estimate.value for estimate in parts)
    return Estimate(
        value=value,
        low=value - math.hypot(*(estimate.value - estimate.low for estimate in parts)),
        high=value + math.hypot(*(estimate.high - estimate.value for estimate in parts)),
        mark="stated",
        as_of=min((estimate.as_of for estimate in parts if estimate.as_of), default=None),
        why="; ".join(dict.fromkeys(estimate.why for estimate in parts if estimate.why)),
    )


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """So many times an estimate; taken off where the factor is below zero."""
    ends = sorted((estimate.low * factor, estimate.high * factor))
    return Estimate(value=estimate.value * factor, low=ends[0], high=ends[1], mark=estimate.mark,
                    as_of=estimate.as_of, why=estimate.why)  # fmt: skip
