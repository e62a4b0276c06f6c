"""Quantities over time as one line of blocks each; a gap stays a gap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rigright.base.page import Shown, Strip, Strips
from rigright.base.words import clean, tell
from rigright.report.screen import Screen, cut, pad, toned, width, wrap

_WIDEST, _SHORTEST = 60, 12  # cells of the picture itself
_BLOCKS = (" ▁▂▃▄▅▆▇█", " .:-=+*%#")


def draw_strips(strips: Strips, screen: Screen) -> list[str]:
    """A line for each strip, label before and figures behind; below each other on a narrow screen."""
    side = min(max((width(_told(one.label, screen)) for one in strips.strips), default=0), screen.width // 4)
    tail = max((width(_told(one.shown, screen)) for one in strips.strips), default=0)
    room = min(screen.width - side - tail - 4, _WIDEST)
    lines = []
    for strip in strips.strips:
        lines += (
            _under(strip, screen)
            if room < _SHORTEST
            else [_beside(strip, side=side, room=room, screen=screen)]
        )
    span = "" if strips.span is None or not lines else _told(strips.span, screen)
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
        max((one for one in stretch if one is not None and math.isfinite(one)), default=None)
        for stretch in stretches
    )


def _beside(strip: Strip, *, side: int, room: int, screen: Screen) -> str:
    label = pad(cut(_told(strip.label, screen), side, mark="…" if screen.unicode else "~"), side)
    picture = _picture(strip, room, screen=screen)
    rest = " " * (room - min(room, len(strip.values)))
    return f"{label}  {picture}{rest}  {_told(strip.shown, screen)}".rstrip()


def _under(strip: Strip, screen: Screen) -> list[str]:
    said = wrap(f"{_told(strip.label, screen)}: {_told(strip.shown, screen)}", screen.width)
    return [*said, _picture(strip, screen.width, screen=screen)] if strip.values else said


def _picture(strip: Strip, room: int, *, screen: Screen) -> str:
    """The blocks in their colour; blanks behind them bear none."""
    drawn = blocks(strip, room, screen=screen)
    seen = drawn.rstrip()
    return (toned(seen, strip.tone, screen=screen) if seen else "") + drawn[len(seen) :]


def _told(thing: Shown, screen: Screen) -> str:
    return clean(tell(thing, screen.language))
