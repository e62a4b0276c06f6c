"""The screen a page is rendered for: how wide it is, what it can show, text measured and coloured for it.

Text is measured in terminal cells: Chinese characters take two, marks that combine take none. Marks say
without colour what a tone says with it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.words import ENGLISH, clean, tell

if TYPE_CHECKING:
    from rigright.base.page import Shown, Tone

NARROW_CELLS = 50  # below this the rows of a table may become cards
_HUGS_LEFT = "，。、；：！？）》」』】”’…％,.;:!?)]}%"  # never starts a line
_HUGS_RIGHT = "（《「『【“‘([{"  # never ends a line
_OURS = pattern(r"(?<![\w./-])rigright (?=[a-z])")
_JOINTS = "/-_.:@#&="
_UNIT = pattern(
    r"(?:%|[KMGT]?i?B(?:/s)?|[mµ]?s|k?W|[GM]Hz|TFLOPS|tok(?:/s)?|token(?:/秒)?|min|h|°C)[,;.:)，。；）]*"
)
_SIGNS = {"<=", ">=", "≤", "≥", "≈"}  # which stand before their figure
_TONES = {"plain": "", "good": "32", "warn": "33", "bad": "31", "dim": "2", "strong": "1"}
_MARKS = {"good": ("✓ ", "[ok] "), "warn": ("! ", "[!] "), "bad": ("✗ ", "[x] ")}
_PIECES = ("38;5;75", "38;5;215", "38;5;114", "38;5;176", "38;5;80", "38;5;203", "38;5;221", "38;5;245")
_FILLS = ("█▓▒░▚▙▞▛", "#=+o%*xz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """How wide it is in cells, and what it can show."""

    width: int = 100
    colour: bool = False
    unicode: bool = True
    language: str = ENGLISH
    pasted: Callable[[str], str] | None = None  # writes our commands as the one who reads starts them
    stated: bool = False  # the language was asked for: the next commands ask for it, too


def width(text: str) -> int:
    """How many cells a text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """Fill up with spaces, on the right or, for numbers, on the left."""
    space = " " * (cells - width(text))
    return space + text if right else text + space


def cut(text: str, cells: int, *, mark: str) -> str:
    """The text, or as much of it as leaves room for the mark that says so."""
    return text if width(text) <= cells else _head(text, cells - width(mark)) + mark


def cut_to(text: str, cells: int, *, screen: Screen) -> str:
    """The text, or its beginning with a mark that this screen can show."""
    return cut(text, max(cells, 1), mark="…" if screen.unicode else "~")


def wrap(text: str, cells: int) -> list[str]:
    """Lines of at most so many cells; Chinese may break anywhere but before closing marks."""
    cells = max(cells, 2)
    lines = [""]
    for space, unit in _units(text, joined=cells >= NARROW_CELLS):
        gap = space if lines[-1] else ""
        if width(lines[-1]) + len(gap) + width(unit) <= cells:
            lines[-1] += gap + unit
            continue
        pieces = _pieces(unit, cells)
        lines[-1:] = [*filter(None, lines[-1:]), *pieces]
    return lines


def wrap_prose(text: str, cells: int) -> list[str]:
    """The same of a message: commands in it, which people copy, are never broken."""
    lines, parts = [""], text.split("`")
    for place, part in enumerate(parts):
        is_command = place % 2 == 1
        spaced = not place or parts[place - 1][-1:].isspace() or part[:1].isspace()
        units = [(" ", f"`{part}`")] if is_command else _units(part, joined=True)
        for number, (space, unit) in enumerate(units):
            gap = space if lines[-1] and (number or spaced) else ""
            if width(lines[-1]) + len(gap) + width(unit) <= cells or unit[0] in _HUGS_LEFT:
                lines[-1] += gap + unit
            else:
                lines[-1:] = [*filter(None, lines[-1:]), *([unit] if is_command else _pieces(unit, cells))]
    return lines


def longest_word(text: str) -> int:
    """Cells of the longest stretch that does not break."""
    return max((width(unit) for _, unit in _units(text)), default=0)


def _cells(letter: str) -> int:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2
    return 0 if unicodedata.category(letter) in {"Mn", "Me", "Cf"} else 1


def _head(text: str, cells: int) -> str:
    """The longest beginning that fits."""
    used = 0
    for index, letter in enumerate(text):
        used += _cells(letter)
        if used > cells:
            return text[:index]
    return text


def _pieces(unit: str, cells: int) -> list[str]:
    """A unit longer than a line, cut hard, behind a joint such as the dashes of a name where one is near."""
    pieces = []
    while width(unit) > cells:
        head = _head(unit, cells)
        joint = max(head.rfind(mark) for mark in _JOINTS) + 1
        head = head[:joint] if joint > len(head) // 2 else head
        pieces.append(head)
        unit = unit[len(head) :]
    return [*pieces, unit] if unit else pieces


def _units(text: str, *, joined: bool = False) -> list[tuple[str, str]]:
    """What never breaks inside, each with the space before it; `joined`: a figure keeps its unit."""
    units: list[tuple[str, str]] = []
    for word in text.split():
        parts = [word] if word.isascii() else _split_wide(word)
        space, before = units[-1] if units else ("", "")
        figure = before[-1:].isdigit() and _UNIT.fullmatch(parts[0]) is not None
        if joined and (figure or before in _SIGNS):
            units[-1] = space, f"{before} {parts[0]}"
        else:
            units.append((" ", parts[0]))
        units.extend(("", part) for part in parts[1:])
    return units


def _split_wide(word: str) -> list[str]:
    """A word cut before and after every wide letter, marks kept with what they belong to."""
    parts = [word[0]]
    for before, letter in pairwise(word):
        joined = letter in _HUGS_LEFT or before in _HUGS_RIGHT or (_cells(before) < 2 and _cells(letter) < 2)
        if joined or _cells(letter) == 0:
            parts[-1] += letter
        else:
            parts.append(letter)
    return parts


def screen_text(thing: Shown, screen: Screen) -> str:
    """A text in the language of the screen, without what would steer a terminal."""
    text = clean(tell(thing, screen.language))
    return text if screen.pasted is None else screen.pasted(text)


def command_text(command: str, screen: Screen) -> str:
    """A command to type next, that answers in the same language and currency."""
    if screen.stated:
        command = _OURS.sub(f"rigright --lang {screen.language} ", command)
    return screen_text(command, screen)


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
