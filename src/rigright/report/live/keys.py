"""What the live view is set to, and what each key makes of it. Nothing here knows a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rigright.base.words import Sentence, say
from rigright.report.live.lists import ORDERS

BACK_S, FAR_S = 10.0, 600.0  # one step into the past, and a long one
_MOST_TYPED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How the live view is set."""

    links: bool = False  # NVLink and network ports instead of programs
    sort: str = "memory"  # of ORDERS
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


Act = Callable[[View, Frame], View]
Help = tuple[str, Sentence, Mapping[str, Act]]  # keys as people know them, what for, what each of them does


def _scroll(rows: Callable[[Frame], int]) -> Act:
    """So many rows down, of a list of which this was drawn."""

    def act(view: View, frame: Frame) -> View:
        top = min(view.top, frame.most_top) + rows(frame)
        return replace(view, top=max(min(top, frame.most_top), 0))

    return act


def _go(by_s: float) -> Act:
    """Through the history; beyond the newest moment it is now."""

    def act(view: View, frame: Frame) -> View:
        at_s = (frame.now_s if view.at_s is None else view.at_s) + by_s
        return replace(view, at_s=None if at_s >= frame.now_s else at_s)

    return act


def _sort(by: int) -> Act:
    """The order of the next column, or of one before."""

    def act(view: View, _frame: Frame) -> View:
        names = [*ORDERS]
        name = names[(names.index(view.sort) + by) % len(names)]
        return replace(view, sort=name, reverse=False, top=0)

    return act


def _undo(view: View, _frame: Frame) -> View:
    """What was set last: the past, then the filter."""
    return replace(view, at_s=None) if view.at_s is not None else replace(view, words="", top=0)


def _quit(view: View, _frame: Frame) -> View:
    return replace(view, over=True)


KEYS: tuple[Help, ...] = (
    (
        "l",
        say("links (NVLink and network ports) instead of programs, and back"),
        {"l": lambda view, _: replace(view, links=not view.links, top=0)},
    ),
    (
        "j k PgUp PgDn g G",
        say("scroll, also with the arrow keys"),
        {
            **dict.fromkeys(("j", "down"), _scroll(lambda _: 1)),
            **dict.fromkeys(("k", "up"), _scroll(lambda _: -1)),
            **dict.fromkeys(("g", "home"), _scroll(lambda frame: -frame.most_top)),
            "G": _scroll(lambda frame: frame.most_top),
            "pgup": _scroll(lambda frame: -frame.page),
            "pgdn": _scroll(lambda frame: frame.page),
        },
    ),
    ("s S", say("sort programs by the next or previous column"), {"s": _sort(1), "S": _sort(-1)}),
    ("r", say("reverse the order"), {"r": lambda view, _: replace(view, reverse=not view.reverse, top=0)}),
    (
        "/",
        say("filter programs: words, user:ada, gpu:3; Enter keeps it, Esc clears it"),
        {"/": lambda view, _: replace(view, typing=view.words, links=False, top=0)},
    ),
    (
        "Left Right",
        say("10 seconds back or forward in the history"),
        {"left": _go(-BACK_S), "right": _go(BACK_S)},
    ),
    ("[ ]", say("10 minutes back or forward"), {"[": _go(-FAR_S), "]": _go(FAR_S)}),
    ("End Esc", say("back to now"), {"end": lambda view, _: replace(view, at_s=None), "esc": _undo}),
    ("? h", say("this page"), dict.fromkeys("?h", lambda view, _: replace(view, help=True))),
    ("q Ctrl-C", say("quit"), dict.fromkeys(("q", "Q", "ctrl-c", "ctrl-d"), _quit)),
)
_ACTS = {key: act for _, _, acts in KEYS for key, act in acts.items()}


def press(view: View, key: str, *, frame: Frame) -> View:
    """The view after a key; one that means nothing changes nothing."""
    if view.typing is not None:
        return _typed(view, key, text=view.typing)
    if view.help and _ACTS.get(key) is not _quit:
        return replace(view, help=False)
    return _ACTS[key](view, frame) if key in _ACTS else view


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


_PRESSES = re.compile(r"\x1b[\[O][^@-~]*[@-~]?|.", re.DOTALL)  # a sequence of a terminal, or a letter
_SEQUENCES = {
    **{f"\x1b{front}{code}": name for front in "[O" for code, name in zip(
        "ABCDHF", ("up", "down", "right", "left", "home", "end"), strict=True
    )},
    "\x1b[5~": "pgup", "\x1b[6~": "pgdn", "\x1b[1~": "home", "\x1b[4~": "end", "\x1b[7~": "home",
    "\x1b[8~": "end", "\x1b": "esc", "\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace",
    "\x03": "ctrl-c", "\x04": "ctrl-d",
}  # fmt: skip


def keys_of(text: str) -> list[str]:
    """What was pressed, of the letters that a terminal sent."""
    pressed = _PRESSES.findall(text)
    return [_SEQUENCES.get(piece, piece) for piece in pressed if piece in _SEQUENCES or piece[0] >= " "]
