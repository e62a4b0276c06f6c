"""What every line of a live view is made of: cut to the screen, toned, with a picture of the past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rigright.base.page import Strip, Tone
from rigright.base.words import CHINESE, Sentence, clean, tell
from rigright.report.charts import blocks
from rigright.report.screen import Screen, cut, pad, toned, width

PICTURE = 20  # cells
_LEAST_LAST = 16  # cells of the last column of a grid, before another column goes
_MOST_CELLS = 24  # of any other column
Words = Sentence | str


@dataclass(frozen=True, slots=True)
class GridColumn:
    """One column of a grid."""

    head: Words
    rank: int  # where there is no room the highest goes first
    right: bool = True
    least: int = 0  # cells, so that columns stay where they are while rows change


def text_of(sentence: Words, screen: Screen) -> str:
    """A sentence or foreign text as this screen can show it; each letter as wide as it is counted."""
    text = clean(tell(sentence, screen.language))
    if screen.unicode or text.isascii():
        return text
    text = text.replace("°C", "C").replace("\N{HORIZONTAL ELLIPSIS}", "~")
    return text if screen.language == CHINESE else text.encode("ascii", "replace").decode()


def line_of(sentence: Words, screen: Screen, *, tone: Tone = "plain") -> str:
    """A sentence on one line, cut to the screen."""
    return toned(cut_to(text_of(sentence, screen), screen.width, screen=screen), tone, screen=screen)


def cut_to(text: str, cells: int, *, screen: Screen) -> str:
    """A text, or its beginning with a mark that says so."""
    return cut(text, max(cells, 1), mark="…" if screen.unicode else "~")


def joined(pieces: Sequence[Words], screen: Screen) -> str:
    """As many pieces on one line as there is room for, the most important first."""
    line = ""
    for piece in pieces:
        text = ("   " if line else "") + text_of(piece, screen)
        if width(line) + width(text) <= screen.width:
            line += text
    return toned(line, "dim", screen=screen)


def picture(past: Sequence[float | None], screen: Screen) -> str:
    """The last values, one a cell, the newest at the right."""
    strip = Strip(label="", values=tuple(past[-PICTURE:]), shown="", high=1.0)
    return blocks(strip, PICTURE, screen=screen).rjust(PICTURE)


def grid(
    columns: Sequence[GridColumn],
    rows: Sequence[Sequence[Words]],
    *,
    screen: Screen,
    tones: Sequence[Tone] = (),
) -> list[str]:
    """The head, then a line for each row; columns that find no room are left out, the last is cut."""
    lines = [
        [text_of(column.head, screen) for column in columns],
        *([text_of(sentence, screen) for sentence in row] for row in rows),
    ]
    last = len(columns) - 1
    wide = [
        min(max(column.least, *(width(line[place]) for line in lines)), _MOST_CELLS)
        for place, column in enumerate(columns[:-1])
    ]
    least = min(columns[last].least or _LEAST_LAST, max(width(line[last]) for line in lines))
    shown = list(range(last))
    while shown[1:] and sum(wide[place] + 2 for place in shown) + least > screen.width:
        shown.remove(max(shown, key=lambda place: columns[place].rank))
    used = sum(wide[place] + 2 for place in shown)
    texts = []
    for line in lines:
        parts = [
            pad(cut_to(line[place], wide[place], screen=screen), wide[place], right=columns[place].right)
            for place in shown
        ]
        parts += [cut_to(line[last], screen.width - used, screen=screen)]
        texts.append(cut_to("  ".join(parts).rstrip(), screen.width, screen=screen))
    return [
        toned(line, "dim" if place == 0 else tones[place - 1] if tones else "plain", screen=screen)
        for place, line in enumerate(texts)
    ]
