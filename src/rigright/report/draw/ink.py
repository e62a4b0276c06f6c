"""Colours of a terminal and the marks that say the same without colour."""

from __future__ import annotations

from rigright.base.page import Shown, Tone
from rigright.base.words import clean, tell
from rigright.report.screen import Screen

_TONES = {"plain": "", "good": "32", "warn": "33", "bad": "31", "dim": "2", "strong": "1"}
_MARKS = {"good": ("✓ ", "[ok] "), "warn": ("! ", "[!] "), "bad": ("✗ ", "[x] ")}
_PIECES = ("38;5;75", "38;5;215", "38;5;114", "38;5;176", "38;5;80", "38;5;203", "38;5;221", "38;5;245")
_FILLS = ("█▓▒░▚▙▞▛", "#=+o%*xz")


def told(thing: Shown, screen: Screen) -> str:
    """A text in the language of the screen, without what would steer a terminal."""
    return clean(tell(thing, screen.language))


def toned(text: str, tone: Tone, *, screen: Screen) -> str:
    """A text in a tone."""
    return _dyed(text, _TONES[tone], screen=screen)


def mark(tone: Tone, screen: Screen) -> str:
    """What stands before a sentence so that its tone needs no colour."""
    return _MARKS[tone][0 if screen.unicode else 1] if tone in _MARKS else ""


def fill(order: int, screen: Screen) -> str:
    """The letter a bar's piece is drawn with, its colour apart."""
    letters = _FILLS[0 if screen.unicode else 1]
    return letters[order % len(letters)]


def dye(text: str, order: int, *, screen: Screen) -> str:
    """A text in the colour of a bar's piece."""
    return _dyed(text, _PIECES[order % len(_PIECES)], screen=screen)


def _dyed(text: str, code: str, *, screen: Screen) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if screen.colour and code and text else text
