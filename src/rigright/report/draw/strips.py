"""Quantities over time as one line of blocks each; a gap stays a gap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from rigright.base.page import Strip, Strips
from rigright.report.draw.bars import Lane, draw_lanes
from rigright.report.screen import Screen, screen_text, toned, wrap

_WIDEST, _SHORTEST = 60, 12  # cells of the picture itself
_BLOCKS = (" ▁▂▃▄▅▆▇█", " .:-=+*%#")


def draw_strips(strips: Strips, screen: Screen) -> list[str]:
    """A line for each strip, label before and figures behind; below each other on a narrow screen."""
    lanes = [
        Lane(label=strip.label, shown=strip.shown, picture=partial(_picture, strip, screen=screen))
        for strip in strips.strips
    ]
    lines, _ = draw_lanes(lanes, screen, most=_WIDEST, least=_SHORTEST)
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
