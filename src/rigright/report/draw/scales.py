"""Where a value stands on axes of powers of ten, or of equal steps, each from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rigright.base.page import Plot
from rigright.base.record import dataclass

Place = tuple[float, float]
_LEAST_SPAN = 0.3  # decades: a plot of one value still has a width
_MOST_TICKS = 9
_STEPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """Both axes, in decades or in equal steps."""

    left: float
    right: float
    bottom: float
    top: float
    linear: bool = False

    def across(self, x: float) -> float:
        """0 at the left edge, 1 at the right."""
        return (self._at(x) - self.left) / (self.right - self.left)

    def up(self, y: float) -> float:
        """0 at the bottom, 1 at the top."""
        return (self._at(y) - self.bottom) / (self.top - self.bottom)

    def _at(self, value: float) -> float:
        return value if self.linear else math.log10(value)

    def places(self, points: Iterable[Place]) -> list[Place]:
        """Points that can be drawn, on both axes from 0 to 1."""
        return [(self.across(x), self.up(y)) for x, y in points if _is_drawn(x, y, linear=self.linear)]

    @property
    def x_ticks(self) -> list[float]:
        """Powers of ten across, or steps."""
        return _steps(self.right) if self.linear else _ticks(self.left, self.right)

    @property
    def y_ticks(self) -> list[float]:
        """Powers of ten upwards, or steps."""
        return _steps(self.top) if self.linear else _ticks(self.bottom, self.top)

    def shown(self, tick: float) -> str:
        """A power of ten in few letters: 0.01, 100, 1e+06; a step as it is: 2,500,000."""
        return f"{tick:,.12g}" if self.linear else f"{tick:g}"


def scales_of(plot: Plot) -> Scales | None:
    """Axes that hold every point; None where there is none."""
    points = [point for curve in plot.curves for point in curve.points]
    points += [(spot.x, spot.y) for spot in plot.spots]
    if plot.linear:
        finite = [(x, y) for x, y in points if _is_drawn(x, y, linear=True)]
        if not finite:
            return None
        right, top = (max(pair[axis] for pair in finite) or 1.0 for axis in (0, 1))
        return Scales(left=0.0, right=right, bottom=0.0, top=top, linear=True)
    drawn = [(math.log10(x), math.log10(y)) for x, y in points if _is_drawn(x, y)]
    if not drawn:
        return None
    left, right = _spread([x for x, _ in drawn])
    bottom, top = _spread([y for _, y in drawn])
    return Scales(left=left, right=right, bottom=bottom, top=top)


def _is_drawn(x: float, y: float, *, linear: bool = False) -> bool:
    least = 0.0 if linear else math.ulp(0.0)
    return math.isfinite(x) and math.isfinite(y) and min(x, y) >= least


def _steps(most: float) -> list[float]:
    """Round numbers from zero, four to eight of them."""
    rough = most / _STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [step * place for place in range(int(most / step + 1e-9) + 1)]


def _spread(logs: list[float]) -> tuple[float, float]:
    low, high = min(logs), max(logs)
    lack = max(_LEAST_SPAN - (high - low), 0.0) / 2
    return low - lack, high + lack


def _ticks(low: float, high: float) -> list[float]:
    whole = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    step = -(-len(whole) // _MOST_TICKS) or 1
    return [10.0**power for power in whole[::step]]
