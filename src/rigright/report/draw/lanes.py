"""Pictures a line each between a label and a figure; on a narrow screen below both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rigright.base.page import Shown, Tone
from rigright.report.screen import Screen, cut, pad, told, toned, width, wrap


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One picture with its label and its figure."""

    label: Shown
    shown: Shown
    picture: Callable[[int], str]  # of so many cells
    tone: Tone = "plain"  # of the figure


def draw_lanes(
    lanes: Sequence[Lane], screen: Screen, *, most: int, least: int, edge: int = 0
) -> tuple[list[str], int]:
    """The lines, and how far pictures are indented; a picture takes `edge` cells more than its room."""
    side = min(max((width(told(one.label, screen)) for one in lanes), default=0), screen.width // 4)
    tail = max((width(told(one.shown, screen)) for one in lanes), default=0)
    room = min(screen.width - side - tail - 4 - edge, most)
    if room >= least:
        mark = "…" if screen.unicode else "~"
        heads = (pad(cut(told(one.label, screen), side, mark=mark), side) for one in lanes)
        return [
            f"{head}  {one.picture(room)}  {toned(told(one.shown, screen), one.tone, screen=screen)}".rstrip()
            for head, one in zip(heads, lanes, strict=True)
        ], side + 2
    lines: list[str] = []
    for one in lanes:
        said = wrap(f"{told(one.label, screen)}: {told(one.shown, screen)}", screen.width)
        lines += [toned(line, one.tone, screen=screen) for line in said]
        lines += filter(None, [one.picture(screen.width - edge).rstrip()])
    return lines, 0
