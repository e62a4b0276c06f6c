"""Bars with pieces on one scale, told apart by letters, and quantities over time as a line of blocks each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from rigright.base.page import Bar, Bars, Piece, Shown, Strip, Strips, Tone
from rigright.base.words import clean
from rigright.report.screen import Screen, cut, dye, fill, pad, screen_text, toned, width, wrap

_WIDEST_BAR, _SHORTEST_BAR = 56, 16  # cells of the bar itself


def draw_bars(bars: Bars, screen: Screen) -> list[str]:
    """The lines of all bars and their legend."""
    orders = piece_orders(bars)
    scale = max((max(bar.limit, total(bar)) for bar in bars.bars), default=0) or 1
    lanes = [
        Lane(
            label=bar.label,
            shown=bar.shown,
            picture=lambda room, bar=bar: _pieces(bar, orders, scale=scale, room=room, screen=screen),  # type: ignore[misc]
            tone="bad" if total(bar) > bar.limit else "plain",
        )
        for bar in bars.bars
    ]
    lines, indent = _draw_lanes(lanes, screen, most=_WIDEST_BAR, least=_SHORTEST_BAR, edge=1)
    return lines + _legend(bars, indent=indent, screen=screen)


def piece_orders(bars: Bars) -> dict[Shown, int]:
    """Each name of a piece -> its place in the legend, so that it looks alike in all bars."""
    names = dict.fromkeys(piece.name for bar in bars.bars for piece in bar.pieces if piece.size > 0)
    return {name: order for order, name in enumerate(names)}


def total(bar: Bar) -> float:
    """What the pieces of a bar come to."""
    return sum(piece.size for piece in _real(bar.pieces))


def legend_entries(bars: Bars, screen: Screen) -> list[str]:
    """The names of the pieces in order, with their sizes where there is one bar only."""
    shown = {piece.name: piece.shown for piece in bars.bars[0].pieces} if len(bars.bars) == 1 else {}
    return [
        f"{screen_text(name, screen)} {clean(shown.get(name, ''))}".rstrip() for name in piece_orders(bars)
    ]


def _legend(bars: Bars, *, indent: int, screen: Screen) -> list[str]:
    """Which letter is which piece."""
    room = screen.width - indent
    lines: list[str] = []
    used = room
    for order, entry in enumerate(legend_entries(bars, screen)):
        first, *more = wrap(entry, room - 2)
        head = f"{dye(fill(order, screen), order, screen=screen)} {first}"
        if used + width(first) + 5 <= room:
            lines[-1] += f"   {head}"
            used += width(first) + 5
        else:
            lines.append(head)
            used = width(first) + 2
        lines += [f"  {line}" for line in more]
        used = width(more[-1]) + 2 if more else used
    return [" " * indent + line for line in lines]


def _pieces(bar: Bar, orders: dict[Shown, int], *, scale: float, room: int, screen: Screen) -> str:
    """The pieces, the free rest, and a mark where the limit stands; a cell wider than its room."""
    pieces = _real(bar.pieces)
    free, edge = ("·", "│") if screen.unicode else (".", "|")
    # whole cells for parts of cells: none vanishes, and together they take what they take
    wanted = [piece.size / scale * room for piece in pieces]
    cells = [max(1, round(part)) for part in wanted]
    spare = max(round(sum(wanted)), len(wanted)) - sum(cells)
    while spare and cells:
        largest = cells.index(max(cells))
        cells[largest] += 1 if spare > 0 else -1
        spare += -1 if spare > 0 else 1
    letters = [
        (fill(orders[piece.name], screen), orders[piece.name])
        for piece, count in zip(pieces, cells, strict=True)
        for _ in range(count)
    ][:room]
    limit = round(bar.limit / scale * room)
    taken, over = _runs(letters[:limit], screen), _runs(letters[limit:], screen)
    rest = toned(free * (limit - len(letters)), "dim", screen=screen)
    return taken + rest + edge + over + " " * (room - max(limit, len(letters)))


def _runs(letters: list[tuple[str, int]], screen: Screen) -> str:
    """Letters in their colours, each stretch dyed once."""
    text, start = "", 0
    for index in range(1, len(letters) + 1):
        if index == len(letters) or letters[index] != letters[start]:
            letter, order = letters[start]
            text += dye(letter * (index - start), order, screen=screen)
            start = index
    return text


def _real(pieces: Iterable[Piece]) -> list[Piece]:
    return [piece for piece in pieces if math.isfinite(piece.size) and piece.size > 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One picture with its label and its figure."""

    label: Shown
    shown: Shown
    picture: Callable[[int], str]  # of so many cells
    tone: Tone = "plain"  # of the figure


def _draw_lanes(
    lanes: Sequence[Lane], screen: Screen, *, most: int, least: int, edge: int = 0
) -> tuple[list[str], int]:
    """The lines, and how far pictures are indented; a picture takes `edge` cells more than its room."""
    side = min(max((width(screen_text(lane.label, screen)) for lane in lanes), default=0), screen.width // 4)
    tail = max((width(screen_text(lane.shown, screen)) for lane in lanes), default=0)
    room = min(screen.width - side - tail - 4 - edge, most)
    if room >= least:
        mark = "…" if screen.unicode else "~"
        heads = (pad(cut(screen_text(lane.label, screen), side, mark=mark), side) for lane in lanes)
        tails = (toned(screen_text(lane.shown, screen), lane.tone, screen=screen) for lane in lanes)
        return [
            f"{head}  {lane.picture(room)}  {tail}".rstrip()
            for head, lane, tail in zip(heads, lanes, tails, strict=True)
        ], side + 2
    lines: list[str] = []
    for lane in lanes:
        texts = wrap(f"{screen_text(lane.label, screen)}: {screen_text(lane.shown, screen)}", screen.width)
        lines += [toned(line, lane.tone, screen=screen) for line in texts]
        lines += filter(None, [lane.picture(screen.width - edge).rstrip()])
    return lines, 0


_WIDEST, _SHORTEST = 60, 12  # cells of the picture itself
_BLOCKS = (" ▁▂▃▄▅▆▇█", " .:-=+*%#")


def draw_strips(strips: Strips, screen: Screen) -> list[str]:
    """A line for each strip, label before and figures behind; below each other on a narrow screen."""
    lanes = [
        Lane(label=strip.label, shown=strip.shown, picture=partial(_picture, strip, screen=screen))
        for strip in strips.strips
    ]
    lines, _ = _draw_lanes(lanes, screen, most=_WIDEST, least=_SHORTEST)
    span = "" if strips.span is None or not lines else screen_text(strips.span, screen)
    return lines + [toned(line, "dim", screen=screen) for line in wrap(span, screen.width) if line]


def blocks(strip: Strip, room: int, *, screen: Screen) -> str:
    """The picture alone, a cell for each stretch of time: the highest of it, so that no peak is lost."""
    letters = _BLOCKS[0 if screen.unicode else 1]
    low, high = scale_of(strip)
    drawn = ""
    for value in thinned(strip.values, room):
        if value is None or not math.isfinite(value):
            drawn += " "
            continue
        share = min(1.0, max(0.0, (value - low) / (high - low)))
        drawn += letters[max(1, round(share * (len(letters) - 1)))]
    return drawn


def scale_of(strip: Strip) -> tuple[float, float]:
    """Bottom and top of the picture."""
    seen = [value for value in strip.values if value is not None and math.isfinite(value)]
    high = strip.high if strip.high is not None and math.isfinite(strip.high) else max(seen, default=1.0)
    return strip.low, high if high > strip.low else strip.low + 1.0


def thinned(values: Sequence[float | None], room: int) -> tuple[float | None, ...]:
    """No more values than there is room for, each the highest of its stretch."""
    count = len(values)
    if count <= room:
        return tuple(values)
    edges = [place * count // room for place in range(room + 1)]
    stretches = (values[start:end] for start, end in pairwise(edges))
    return tuple(
        max((value for value in stretch if value is not None and math.isfinite(value)), default=None)
        for stretch in stretches
    )


def _picture(strip: Strip, room: int, *, screen: Screen) -> str:
    """The blocks in their colour, and blanks up to the room, which bear none."""
    drawn = blocks(strip, room, screen=screen).rstrip()
    return (toned(drawn, strip.tone, screen=screen) if drawn else "") + " " * (room - len(drawn))
