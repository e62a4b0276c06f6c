"""What the live view is set to, and what each key makes of it. Nothing here knows a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rigright.base.words import Sentence, say

SORTS = ("memory", "sm", "user", "pid", "time", "cpu")
RISING = {"user", "pid"}  # sorted upwards unless reversed
BACK_S, FAR_S = 10.0, 600.0  # one step into the past, and a long one
_MOST_TYPED = 60
_QUIT = {"q", "Q", "ctrl-c", "ctrl-d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How the live view is set."""

    links: bool = False  # NVLink and network ports instead of programs
    sort: str = "memory"
    reverse: bool = False
    words: str = ""  # of the filter
    typing: str | None = None  # a filter that is being written
    top: int = 0  # the first row of the list that is shown
    at_s: float | None = None  # a moment of the past; None: now
    help: bool = False
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is drawn, and what keys must know of it."""

    lines: list[str] = field(default_factory=list)
    most_top: int = 0  # how far down the list can be scrolled
    page: int = 1  # rows that it shows
    now_s: float = 0.0  # of the newest moment


def press(view: View, key: str, *, frame: Frame) -> View:
    """The view after a key; one that means nothing changes nothing."""
    if view.typing is not None:
        return _typed(view, key, text=view.typing)
    if key in _QUIT:
        return replace(view, over=True)
    if view.help:
        return replace(view, help=False)
    if key in _ROWS:
        top = min(view.top, frame.most_top) + _ROWS[key](frame)
        return replace(view, top=max(min(top, frame.most_top), 0))
    if key in _SECONDS:  # beyond the newest moment it is now
        at_s = (frame.now_s if view.at_s is None else view.at_s) + _SECONDS[key]
        return replace(view, at_s=None if at_s >= frame.now_s else at_s)
    return _ACTS[key](view) if key in _ACTS else view


def _typed(view: View, key: str, *, text: str) -> View:
    """One more letter of the filter; it filters while it is written."""
    if key == "ctrl-c":
        return replace(view, over=True)
    if key == "enter":
        return replace(view, typing=None)
    if key == "esc":
        return replace(view, typing=None, words="", top=0)
    if key == "backspace":
        text = text[:-1]
    elif len(key) == 1 and key.isprintable() and len(text) < _MOST_TYPED:
        text += key
    return replace(view, typing=text, words=text, top=0)


def _left(view: View) -> View:
    """What was set last is undone: the past, then the filter."""
    return replace(view, at_s=None) if view.at_s is not None else replace(view, words="", top=0)


def _sorted(view: View, *, by: int) -> View:
    sort = SORTS[(SORTS.index(view.sort) + by) % len(SORTS)]
    return replace(view, sort=sort, reverse=False, top=0)


_ROWS: Mapping[str, Callable[[Frame], int]] = {
    **dict.fromkeys(("up", "k"), lambda _: -1),
    **dict.fromkeys(("down", "j"), lambda _: 1),
    "pgup": lambda frame: -frame.page,
    "pgdn": lambda frame: frame.page,
    **dict.fromkeys(("g", "home"), lambda frame: -frame.most_top),
    "G": lambda frame: frame.most_top,
}
_SECONDS = {"left": -BACK_S, "right": BACK_S, "[": -FAR_S, "]": FAR_S}
_ACTS: Mapping[str, Callable[[View], View]] = {
    "l": lambda view: replace(view, links=not view.links, top=0),
    "s": lambda view: _sorted(view, by=1),
    "S": lambda view: _sorted(view, by=-1),
    "r": lambda view: replace(view, reverse=not view.reverse, top=0),
    "/": lambda view: replace(view, typing=view.words, links=False, top=0),
    "end": lambda view: replace(view, at_s=None),
    "esc": _left,
    **dict.fromkeys(("?", "h"), lambda view: replace(view, help=True)),
}

HELP: tuple[tuple[str, Sentence], ...] = (
    ("l", say("links (NVLink and network ports) instead of programs, and back")),
    ("j k PgUp PgDn g G", say("scroll, also with the arrow keys")),
    ("s S", say("sort programs by the next or previous column")),
    ("r", say("reverse the order")),
    ("/", say("filter programs: words, user:ada, gpu:3; Enter keeps it, Esc clears it")),
    ("Left Right", say("10 seconds back or forward in the history")),
    ("[ ]", say("10 minutes back or forward")),
    ("End Esc", say("back to now")),
    ("? h", say("this page")),
    ("q Ctrl-C", say("quit")),
)


def keys_of(text: str) -> list[str]:
    """What was pressed, of the letters that a terminal sent."""
    texts, at = [], 0
    while at < len(text):
        name = next((sequence for sequence in _SEQUENCES if text.startswith(sequence, at)), None)
        if name is not None:
            texts.append(_SEQUENCES[name])
            at += len(name)
        elif text.startswith(("\x1b[", "\x1bO"), at):  # a sequence that we do not know
            at += 2
            while at < len(text) and not "@" <= text[at] <= "~":
                at += 1
            at += 1
        else:
            letter = text[at]
            texts.append(_CONTROLS.get(letter, letter if letter >= " " else ""))
            at += 1
    return [item for item in texts if item]


_SEQUENCES = {
    f"\x1b{front}{code}": name
    for name, code in (("up", "A"), ("down", "B"), ("right", "C"), ("left", "D"), ("home", "H"), ("end", "F"))
    for front in "[O"
} | {
    "\x1b[5~": "pgup", "\x1b[6~": "pgdn", "\x1b[1~": "home", "\x1b[4~": "end", "\x1b[7~": "home",
    "\x1b[8~": "end",
}  # fmt: skip
_CONTROLS = {
    "\x1b": "esc", "\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\x03": "ctrl-c",
    "\x04": "ctrl-d",
}  # fmt: skip
