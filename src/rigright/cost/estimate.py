"""An estimate: a predicted figure with low and high, and its basis."""

from __future__ import annotations

from rigright.base.record import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Four of five measured runs should lie between low and high."""

    value: float
    low: float
    high: float
    mark: str = "fitted"  # "measured", "fitted" on runs of such chips, or "physics" alone
    as_of: str | None = None  # of prices
    why: str = ""  # id of the law or fact it follows from

    TOLD = "value low high mark as_of?"


def spread(value: float, ratios: tuple[float, float], *, mark: str = "fitted") -> Estimate:
    """A value with its band told as ratios: measured over predicted."""
    low, high = ratios
    return Estimate(value=value, low=value * low, high=value * high, mark=mark)
