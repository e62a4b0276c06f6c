"""A plot in characters: curves in dots of Braille, points as letters; its scales serve every format."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from rigright.base.page import Plot
from rigright.base.record import dataclass
from rigright.base.words import clean
from rigright.report.screen import Screen, cut, dye, pad, screen_text, toned, width, wrap

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


_WIDEST = 72  # cells of the drawing
_ACROSS, _UP = 2, 4  # dots of a cell
_BRAILLE = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # of a column, from its foot up
_BLANK = 0x2800

Cells = dict[tuple[int, int], tuple[str, int]]  # column, line from the foot -> letter, order of its curve


def draw_plot(plot: Plot, screen: Screen) -> list[str]:
    """The lines of a plot and its legend; nothing where there is nothing to draw."""
    scales = scales_of(plot)
    if scales is None:
        return []
    side = max((len(scales.shown(tick)) for tick in scales.y_ticks), default=0)
    room = max(min(screen.width - side - 3, _WIDEST), 4)
    cells = _dots(plot, scales, room=room, screen=screen) | _letters(plot, scales, room=room)
    ticks = {round(scales.up(tick) * (plot.lines - 1)): scales.shown(tick) for tick in scales.y_ticks}
    edge = "│" if screen.unicode else "|"
    lines = [
        toned(line, "dim", screen=screen)
        for line in wrap(screen_text(plot.y_name, screen), screen.width)
        if line
    ]
    for line in reversed(range(plot.lines)):
        drawn = "".join(_cell(cells.get((column, line)), screen) for column in range(room))
        lines.append(f"{pad(ticks.get(line, ''), side, right=True)} {edge}{drawn}".rstrip())
    return lines + _foot(plot, scales, sizes=(side, room), screen=screen) + _legend(plot, screen)


def _cell(pair: tuple[str, int] | None, screen: Screen) -> str:
    return " " if pair is None else dye(pair[0], pair[1], screen=screen)


def _letters(plot: Plot, scales: Scales, *, room: int) -> Cells:
    """The points, over all curves; the right end of each curve bears its letter."""
    cells: Cells = {}
    for order, curve in enumerate(plot.curves):
        for place in scales.places(curve.points)[-1:]:
            column, line = _spot(place, room, lines=plot.lines)
            while (column, line) in cells and column > 0:
                column -= 1
            cells[column, line] = (_letter(curve.letter), order)
    for spot in plot.spots:
        for place in scales.places(((spot.x, spot.y),)):
            cells[_spot(place, room, lines=plot.lines)] = (_letter(spot.letter), spot.curve)
    return cells


def _spot(place: Place, room: int, *, lines: int) -> tuple[int, int]:
    return round(place[0] * (room - 1)), round(place[1] * (lines - 1))


def _dots(plot: Plot, scales: Scales, *, room: int, screen: Screen) -> Cells:
    """The curves; where two cross, the later one is seen."""
    wide, high = room * _ACROSS - 1, plot.lines * _UP - 1
    cells: Cells = {}
    for order, curve in enumerate(plot.curves):
        patterns: dict[tuple[int, int], int] = {}
        # points close together along the stretches between places
        places = scales.places(curve.points)
        steps = 2 * wide
        pairs = list(places[:1])
        for (x, y), (to_x, to_y) in pairwise(places):
            count = max(int(max(abs(to_x - x), abs(to_y - y)) * steps), 1)
            pairs += [(x + (to_x - x) * n / count, y + (to_y - y) * n / count) for n in range(1, count + 1)]
        for across, up in pairs:
            column, line = round(across * wide), round(up * high)
            where = column // _ACROSS, line // _UP
            patterns[where] = patterns.get(where, 0) | _BRAILLE[column % _ACROSS][line % _UP]
        for where, pattern in patterns.items():
            cells[where] = (chr(_BLANK + pattern) if screen.unicode else ".", order)
    return cells


def _foot(plot: Plot, scales: Scales, *, sizes: tuple[int, int], screen: Screen) -> list[str]:
    """The axis below, its ticks, and what it counts."""
    side, room = sizes
    rule, corner = ("─", "└") if screen.unicode else ("-", "+")
    ticks = ""
    for tick in scales.x_ticks:
        label = scales.shown(tick)
        start = min(round(scales.across(tick) * (room - 1)), room - len(label))
        if start >= len(ticks) + bool(ticks):
            ticks = ticks.ljust(start) + label
    names = wrap(screen_text(plot.x_name, screen), room)
    return [
        f"{' ' * side} {corner}{rule * room}",
        f"{' ' * (side + 2)}{ticks}".rstrip(),
        *(" " * (side + 2 + max(room - width(name), 0)) + name for name in names),
    ]


def _legend(plot: Plot, screen: Screen) -> list[str]:
    """Which letter is what."""
    named = [(curve.letter, curve.name, order) for order, curve in enumerate(plot.curves)]
    named += [(spot.letter, spot.name, spot.curve) for spot in plot.spots]
    lines = []
    for letter, name, order in named:
        first, *more = wrap(screen_text(name, screen), screen.width - 4)
        lines.append(f"  {dye(_letter(letter), order, screen=screen)} {first}".rstrip())
        lines += [f"    {line}" for line in more]
    return lines


def _letter(text: str) -> str:
    """What stands for a curve or a point: one cell."""
    letter = cut(clean(text), 1, mark="")
    return letter if width(letter) == 1 else "*"  # a mark that combines takes no cell of its own
