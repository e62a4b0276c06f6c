"""What every line of a live view is made of: cut to the screen, toned, with a picture of the past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rigright.base.page import Strip, Tone
from rigright.base.words import CHINESE, Sentence, clean, tell
from rigright.report.cells import cut, pad, width
from rigright.report.draw.ink import dye, toned
from rigright.report.draw.strips import blocks
from rigright.report.screen import Screen

LEAST_PICTURE, MOST_PICTURE = 8, 60
_LEAST_LAST = 16  # cells of the last column of a grid, before another column goes
_MOST_CELLS = 24  # of any other column
Past = tuple[float | None, ...]
Words = Sentence | str


@dataclass(frozen=True, slots=True)
class GridColumn:
    """One column of a grid."""

    head: Words
    rank: int  # where there is no room the highest goes first
    right: bool = True
    least: int = 0  # cells, so that columns stay where they are while rows change


def told(said: Words, screen: Screen) -> str:
    """A sentence or foreign text as this screen can show it; each letter as wide as it is counted."""
    text = clean(tell(said, screen.language))
    if screen.unicode or text.isascii():
        return text
    text = text.replace("°C", "C").replace("\N{HORIZONTAL ELLIPSIS}", "~")
    return text if screen.language == CHINESE else text.encode("ascii", "replace").decode()


def line_of(said: Words, screen: Screen, *, tone: Tone = "plain", less: int = 0) -> str:
    """A sentence on one line, cut to the screen less some cells."""
    return toned(cut_to(told(said, screen), screen.width - less, screen=screen), tone, screen=screen)


def cut_to(text: str, cells: int, *, screen: Screen) -> str:
    """A text, or its beginning with a mark that says so."""
    return cut(text, max(cells, 1), mark="…" if screen.unicode else "~")


def picture(past: Past, room: int, *, screen: Screen) -> str:
    """The last values, one a cell, the newest at the right."""
    drawn = blocks(Strip(label="", values=past[-room:], shown="", high=1.0), room, screen=screen).rjust(room)
    return toned(drawn, "good", screen=screen) if drawn.strip() else drawn


def meter(share: float | None, cells: int, *, screen: Screen) -> str:
    """How full something is, as a bar of so many cells."""
    if share is None:
        return " " * cells
    full, empty = "█░" if screen.unicode else "#."
    filled = min(max(round(share * cells), 0), cells)
    return dye(full * filled, 0, screen=screen) + toned(empty * (cells - filled), "dim", screen=screen)


def grid(
    columns: Sequence[GridColumn],
    rows: Sequence[Sequence[Words]],
    *,
    screen: Screen,
    tones: Sequence[Tone] = (),
) -> list[str]:
    """The head, then a line for each row; columns that find no room are left out, the last is cut."""
    cells = [[told(one, screen) for one in row] for row in rows]
    heads = [told(one.head, screen) for one in columns]
    last = len(columns) - 1
    wide = [
        min(max(column.least, width(head), *(width(row[place]) for row in cells)), _MOST_CELLS)
        if cells
        else max(column.least, width(head))
        for place, (column, head) in enumerate(zip(columns, heads, strict=True))
    ]
    shown = list(range(len(columns)))
    while len(shown) > 1:
        used = sum(wide[place] + 2 for place in shown if place != last)
        if used + (min(_LEAST_LAST, wide[last]) if last in shown else -2) <= screen.width:
            break
        shown.remove(max(shown, key=lambda place: columns[place].rank))
    found = []
    for row in [heads, *cells]:
        parts = []
        left = screen.width
        for place in shown:
            room = left if place == shown[-1] else min(wide[place], left)
            text = cut_to(row[place], room, screen=screen)
            is_right = columns[place].right
            parts.append(
                pad(text, min(wide[place], room), right=is_right) if is_right or room != left else text
            )
            left -= wide[place] + 2
        found.append("  ".join(parts).rstrip())
    return [
        toned(line, "dim" if place == 0 else tones[place - 1] if tones else "plain", screen=screen)
        for place, line in enumerate(found)
    ]
