"""What every line of a live view is made of: cut to the screen, toned, with a picture of the past."""

from __future__ import annotations

from rigright.base.words import Sentence, tell
from rigright.report.draw.cells import clean, cut
from rigright.report.draw.ink import toned
from rigright.report.draw.strips import blocks
from rigright.report.page import Strip, Tone
from rigright.report.screen import Screen

LEAST_PICTURE, MOST_PICTURE = 8, 60
Past = tuple[float | None, ...]


def line_of(said: Sentence | str, screen: Screen, *, tone: Tone = "plain", less: int = 0) -> str:
    """A sentence on one line, cut to the screen less some cells."""
    told = clean(tell(said, screen.language))
    return toned(cut_to(told, screen.width - less, screen=screen), tone, screen=screen)


def cut_to(text: str, cells: int, *, screen: Screen) -> str:
    """A text, or its beginning with a mark that says so."""
    return cut(text, max(cells, 1), mark="…" if screen.unicode else "~")


def picture(past: Past, room: int, *, screen: Screen) -> str:
    """The last values, one a cell, the newest at the right."""
    drawn = blocks(Strip(label="", values=past[-room:], shown="", high=1.0), room, screen=screen).rjust(room)
    return toned(drawn, "good", screen=screen) if drawn.strip() else drawn
