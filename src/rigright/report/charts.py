"""Charts: where bars, curves and quantities over time stand on their axes, and how a terminal draws them.

`formats/html` draws pictures of the same places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from rigright.base.page import Bar, Bars, Piece, Plot, Shown, Strip, Strips, Tone
from rigright.base.record import dataclass
from rigright.base.words import clean
from rigright.report.screen import Screen, cut, cut_to, dye, fill, pad, screen_text, toned, width, wrap

Point = tuple[float, float]
_LEAST_SPAN = 0.3  # decades: an axis of one value still has a length
_MOST_TICKS = 9  # of decades
_STEPS = 6  # about so many ticks of equal steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Values from its low end to its high one, in equal steps from zero or in decades."""

    low: float = 0.0  # in decades: the power of ten
    high: float = 1.0
    decades: bool = False

    def share(self, value: float | None) -> float | None:
        """0 at the low end, 1 at the high one; None where it cannot be drawn."""
        if value is None or not math.isfinite(value) or value < 0 or (self.decades and not value):
            return None
        at = math.log10(value) if self.decades else value
        return min(max((at - self.low) / (self.high - self.low), 0.0), 1.0)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Where round numbers stand, and how they are written: 0.01, 100, 1e+06; 2,500,000."""
        if self.decades:
            whole = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            values = [10.0**power for power in whole[:: -(-len(whole) // _MOST_TICKS) or 1]]
        else:
            power = 10.0 ** math.floor(math.log10(self.high / _STEPS))
            step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= self.high / _STEPS)
            values = [step * place for place in range(int(self.high / step + 1e-9) + 1)]
        form = "g" if self.decades else ",.12g"
        return [(share, format(value, form)) for value in values if (share := self.share(value)) is not None]


def plot_axes(plot: Plot) -> tuple[Axis, Axis] | None:
    """Axes that hold every point; None where there is none."""
    points = [point for curve in plot.curves for point in curve.points]
    points += [(spot.x, spot.y) for spot in plot.spots]
    whole = Axis(decades=not plot.linear)
    drawn = [point for point in points if None not in map(whole.share, point)]
    if not drawn:
        return None
    across, up = (_axis(values, linear=plot.linear) for values in zip(*drawn, strict=True))
    return across, up


def _axis(values: Sequence[float], *, linear: bool) -> Axis:
    if linear:
        return Axis(high=max(values) or 1.0)
    low, high = math.log10(min(values)), math.log10(max(values))
    lack = max(_LEAST_SPAN - (high - low), 0.0) / 2
    return Axis(low=low - lack, high=high + lack, decades=True)


def strip_axis(strip: Strip) -> Axis:
    """From zero to what is stated or seen."""
    seen = [value for value in strip.values if value is not None and math.isfinite(value)]
    high = strip.high if strip.high is not None and math.isfinite(strip.high) else max(seen, default=1.0)
    return Axis(high=high if high > 0 else 1.0)


def bar_scale(bars: Bars) -> float:
    """What the longest bar comes to, its limit included."""
    return max((max(bar.limit, total(bar)) for bar in bars.bars), default=0) or 1


def total(bar: Bar) -> float:
    """What the pieces of a bar come to."""
    return sum(piece.size for piece in pieces_of(bar))


def pieces_of(bar: Bar) -> list[Piece]:
    """The pieces that take room."""
    return [piece for piece in bar.pieces if math.isfinite(piece.size) and piece.size > 0]


def piece_orders(bars: Bars) -> dict[Shown, int]:
    """Each name of a piece -> its place in the legend, so that it looks alike in all bars."""
    names = dict.fromkeys(piece.name for bar in bars.bars for piece in bar.pieces if piece.size > 0)
    return {name: order for order, name in enumerate(names)}


def places(points: Iterable[Point], axes: tuple[Axis, Axis]) -> list[Point]:
    """Points that can be drawn, on both axes from 0 to 1."""
    shares = ((axes[0].share(x), axes[1].share(y)) for x, y in points)
    return [(x, y) for x, y in shares if x is not None and y is not None]


def thinned(values: Sequence[float | None], room: int) -> tuple[float | None, ...]:
    """No more values than there is room for, each the highest of its stretch: no peak is lost."""
    count = len(values)
    if count <= room:
        return tuple(values)
    edges = [place * count // room for place in range(room + 1)]
    stretches = (values[start:end] for start, end in pairwise(edges))
    return tuple(
        max((value for value in stretch if value is not None and math.isfinite(value)), default=None)
        for stretch in stretches
    )


def legend(chart: Bars | Plot, screen: Screen) -> list[tuple[str, str, int]]:
    """What each letter and colour is, with its size where there is one bar only: letter, text, colour."""
    if isinstance(chart, Plot):
        names = [(curve.letter, curve.name, order) for order, curve in enumerate(chart.curves)]
        names += [(spot.letter, spot.name, spot.curve) for spot in chart.spots]
        return [(_letter(letter), screen_text(name, screen), order) for letter, name, order in names]
    sizes = {piece.name: piece.shown for piece in chart.bars[0].pieces} if len(chart.bars) == 1 else {}
    return [
        (fill(order, screen), f"{screen_text(name, screen)} {clean(sizes.get(name, ''))}".rstrip(), order)
        for name, order in piece_orders(chart).items()
    ]


def _letter(text: str) -> str:
    """What stands for a curve or a point: one cell."""
    letter = cut(clean(text), 1, mark="")
    return letter if width(letter) == 1 else "*"  # a mark that combines takes no cell of its own


def draw_chart(chart: Bars | Plot | Strips, screen: Screen) -> list[str]:
    """The lines of a chart and its legend; none where there is nothing to draw."""
    if isinstance(chart, Plot):
        return _plot(chart, screen)
    return _bars(chart, screen) if isinstance(chart, Bars) else _strips(chart, screen)


# bars and strips: a lane each


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One picture with its label and its figure."""

    label: Shown
    figure: Shown
    picture: Callable[[int], str]  # of so many cells
    tone: Tone = "plain"  # of the figure


def _lanes(
    lanes: Sequence[Lane], screen: Screen, *, most: int, least: int, edge: int = 0
) -> tuple[list[str], int]:
    """A line each, or below each other on a narrow screen, and how far pictures are indented.

    A picture takes `edge` cells beside its room.
    """
    labels = [screen_text(lane.label, screen) for lane in lanes]
    figures = [screen_text(lane.figure, screen) for lane in lanes]
    side = min(max(map(width, labels), default=0), screen.width // 4)
    room = min(screen.width - side - max(map(width, figures), default=0) - 4 - edge, most)
    lines: list[str] = []
    if room >= least:
        for lane, label, figure in zip(lanes, labels, figures, strict=True):
            head = pad(cut_to(label, side, screen=screen), side)
            tail = toned(figure, lane.tone, screen=screen)
            lines.append(f"{head}  {lane.picture(room)}  {tail}".rstrip())
        return lines, side + 2
    for lane, label, figure in zip(lanes, labels, figures, strict=True):
        lines += [toned(line, lane.tone, screen=screen) for line in wrap(f"{label}: {figure}", screen.width)]
        lines += filter(None, [lane.picture(screen.width - edge).rstrip()])
    return lines, 0


def _bars(bars: Bars, screen: Screen) -> list[str]:
    lanes = [
        Lane(
            label=bar.label,
            figure=bar.shown,
            picture=lambda room, bar=bar: _bar(bar, bars, room=room, screen=screen),  # type: ignore[misc]
            tone="bad" if total(bar) > bar.limit else "plain",
        )
        for bar in bars.bars
    ]
    lines, indent = _lanes(lanes, screen, most=56, least=16, edge=1)
    return lines + _legend_lines(bars, screen, indent=indent)


def _bar(bar: Bar, bars: Bars, *, room: int, screen: Screen) -> str:
    """The pieces, the free rest, and a mark where the limit stands; a cell wider than its room."""
    pieces, orders, scale = pieces_of(bar), piece_orders(bars), bar_scale(bars)
    free, edge = ("·", "│") if screen.unicode else (".", "|")
    # whole cells for parts of cells: none vanishes, and together they take what they take
    wanted = [piece.size / scale * room for piece in pieces]
    cells = [max(1, round(part)) for part in wanted]
    spare = max(round(sum(wanted)), len(wanted)) - sum(cells)
    while spare and cells:
        step = 1 if spare > 0 else -1
        cells[cells.index(max(cells))] += step
        spare -= step
    taken = [orders[piece.name] for piece, count in zip(pieces, cells, strict=True) for _ in range(count)][
        :room
    ]
    limit = round(bar.limit / scale * room)
    rest = toned(free * (limit - len(taken)), "dim", screen=screen)
    blank = " " * (room - max(limit, len(taken)))
    return f"{_filled(taken[:limit], screen)}{rest}{edge}{_filled(taken[limit:], screen)}{blank}"


def _filled(orders: list[int], screen: Screen) -> str:
    """Cells of pieces, each stretch dyed once."""
    return "".join(
        dye(fill(order, screen) * len(list(run)), order, screen=screen) for order, run in groupby(orders)
    )


def _legend_lines(chart: Bars | Plot, screen: Screen, *, indent: int) -> list[str]:
    """Which letter is what: pieces of bars one behind another, curves a line each."""
    room = screen.width - indent
    lines: list[str] = []
    used = room
    for letter, text, order in legend(chart, screen):
        first, *more = wrap(text, room - 2)
        head = f"{dye(letter, order, screen=screen)} {first}".rstrip()
        cells = width(first) + 2
        if isinstance(chart, Bars) and used + cells + 3 <= room:
            lines[-1] += f"   {head}"
            used += cells + 3
        else:
            lines.append(head)
            used = cells
        lines += [f"  {line}" for line in more]
        used = width(more[-1]) + 2 if more else used
    return [" " * indent + line for line in lines]


_BLOCKS = (" ▁▂▃▄▅▆▇█", " .:-=+*%#")


def _strips(strips: Strips, screen: Screen) -> list[str]:
    """A lane for each quantity, and which time it is below."""
    lanes = [
        Lane(
            label=strip.label,
            figure=strip.shown,
            picture=lambda room, strip=strip: blocks(strip, room, screen=screen).ljust(room),  # type: ignore[misc]
        )
        for strip in strips.strips
    ]
    lines, _ = _lanes(lanes, screen, most=60, least=12)
    span = "" if strips.span is None or not lines else screen_text(strips.span, screen)
    return lines + [toned(line, "dim", screen=screen) for line in wrap(span, screen.width) if line]


def blocks(strip: Strip, room: int, *, screen: Screen) -> str:
    """The picture alone, a cell for each stretch of time; zero is drawn, and what was not seen is not."""
    letters = _BLOCKS[0 if screen.unicode else 1]
    axis, top = strip_axis(strip), len(letters) - 1
    shares = map(axis.share, thinned(strip.values, room))
    return "".join(" " if share is None else letters[max(1, round(share * top))] for share in shares)


# plots: curves in dots of Braille, points as letters

_WIDEST = 72  # cells of the drawing
_ACROSS, _UP = 2, 4  # dots of a cell
_BRAILLE = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # of a column, from its foot up
_BLANK = 0x2800

Cells = dict[tuple[int, int], tuple[str, int]]  # column, line from the foot -> letter, order of its curve


def _plot(plot: Plot, screen: Screen) -> list[str]:
    axes = plot_axes(plot)
    if axes is None:
        return []
    up = axes[1].ticks
    ticks = {round(share * (plot.lines - 1)): label for share, label in up}
    side = max((len(label) for _, label in up), default=0)
    room = max(min(screen.width - side - 3, _WIDEST), 4)
    cells = _dots(plot, axes, room=room, screen=screen) | _letters(plot, axes, room=room)
    edge = "│" if screen.unicode else "|"
    names = wrap(screen_text(plot.y_name, screen), screen.width)
    lines = [toned(line, "dim", screen=screen) for line in names if line]
    for line in reversed(range(plot.lines)):
        row = [cells.get((column, line)) for column in range(room)]
        drawn = "".join(" " if cell is None else dye(*cell, screen=screen) for cell in row)
        lines.append(f"{pad(ticks.get(line, ''), side, right=True)} {edge}{drawn}".rstrip())
    foot = _foot(plot, axes[0], side=side, room=room, screen=screen)
    return [*lines, *foot, *_legend_lines(plot, screen, indent=2)]


def _letters(plot: Plot, axes: tuple[Axis, Axis], *, room: int) -> Cells:
    """The points, over all curves; the right end of each curve bears its letter."""
    cells: Cells = {}
    for order, curve in enumerate(plot.curves):
        for x, y in places(curve.points, axes)[-1:]:
            column, line = round(x * (room - 1)), round(y * (plot.lines - 1))
            while (column, line) in cells and column > 0:
                column -= 1
            cells[column, line] = _letter(curve.letter), order
    for spot in plot.spots:
        for x, y in places(((spot.x, spot.y),), axes):
            cells[round(x * (room - 1)), round(y * (plot.lines - 1))] = _letter(spot.letter), spot.curve
    return cells


def _dots(plot: Plot, axes: tuple[Axis, Axis], *, room: int, screen: Screen) -> Cells:
    """The curves; where two cross, the later one is seen."""
    wide, high = room * _ACROSS - 1, plot.lines * _UP - 1
    cells: Cells = {}
    for order, curve in enumerate(plot.curves):
        patterns: dict[tuple[int, int], int] = {}
        for x, y in _line(places(curve.points, axes), steps=2 * wide):
            column, line = round(x * wide), round(y * high)
            cell = column // _ACROSS, line // _UP
            patterns[cell] = patterns.get(cell, 0) | _BRAILLE[column % _ACROSS][line % _UP]
        for cell, pattern in patterns.items():
            cells[cell] = chr(_BLANK + pattern) if screen.unicode else ".", order
    return cells


def _line(corners: list[Point], *, steps: int) -> Iterator[Point]:
    """Points close together along the stretches between corners."""
    yield from corners[:1]
    for (x, y), (to_x, to_y) in pairwise(corners):
        count = max(int(max(abs(to_x - x), abs(to_y - y)) * steps), 1)
        for n in range(1, count + 1):
            yield x + (to_x - x) * n / count, y + (to_y - y) * n / count


def _foot(plot: Plot, axis: Axis, *, side: int, room: int, screen: Screen) -> list[str]:
    """The axis below, its ticks, and what it counts."""
    rule, corner = ("─", "└") if screen.unicode else ("-", "+")
    ticks = ""
    for share, label in axis.ticks:
        start = min(round(share * (room - 1)), room - len(label))
        if start >= len(ticks) + bool(ticks):
            ticks = ticks.ljust(start) + label
    names = wrap(screen_text(plot.x_name, screen), room)
    return [
        f"{' ' * side} {corner}{rule * room}",
        f"{' ' * (side + 2)}{ticks}".rstrip(),
        *(" " * (side + 2 + max(room - width(name), 0)) + name for name in names),
    ]
