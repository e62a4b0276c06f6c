"""The streams the answer goes to: how wide they are, what they can show, and look-alikes for the rest."""

from __future__ import annotations

import argparse
import codecs
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TextIO

from rigright.base.words import CHINESE, pick_language, say, tell
from rigright.options.readers import LEAST_CELLS
from rigright.report.screen import Screen, wrap_prose

_LOOK_ALIKES = {
    "█": "#", "▓": "=", "▒": "+", "░": "o", "▚": "%", "▙": "*", "▞": "x", "▛": "z", "·": ".", "•": "-",
    "│": "|", "─": "-", "–": "-", "—": "-", "…": "...", "✓": "ok", "✗": "x", "×": "x", "≤": "<=", "≥": ">=",
    "≈": "~", "→": "->", "µ": "u", "“": '"', "”": '"', "‘": "'", "’": "'", "²": "^2", "°": " deg",
}  # fmt: skip
_DRAWN = "█▓▒░▚▙▞▛·•│─…✓✗"
_INDENT = "  "  # of the further lines of a message
_PIPE_CELLS = 100  # where nobody says how wide it is
_PROGRAM = "rigright"
_STARTED = "RIG_STARTED_AS"  # by the launcher of a checkout: what was typed to start it


def open_mouth(form: str, language: str) -> None:
    """Ready both streams: documents are UTF-8, and no letter that a terminal lacks is an error."""
    codecs.register_error("rigright-look-alikes", _look_alike)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, or a Windows program without a console
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if (form != "text" and stream is sys.stdout) or (language == CHINESE and not can(stream, "中文")):
            reconfigure(encoding="utf-8")
        reconfigure(errors="rigright-look-alikes")


def written_over(value: object, language: str, *, is_last: bool = False) -> None:
    """A line of progress on the terminal, over the one before; nothing where nobody looks."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{tell(value, language)}\x1b[K" + ("\n" if is_last else ""))
        sys.stderr.flush()


@contextmanager
def counting(language: str, *, every_s: float = 0.2) -> Iterator[Callable[[int], None]]:
    """Tell how many runs are done, now and then, where somebody looks; the line is gone at the end."""
    began_s = last_s = time.monotonic()

    def step(done: int) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= every_s:
            last_s = now_s
            rate = done / (now_s - began_s)
            written_over(say("{done} runs predicted, {rate}/s", done=done, rate=f"{rate:.0f}"), language)

    yield step
    if last_s != began_s:
        written_over("", language)
        sys.stderr.write("\r" if sys.stderr.isatty() else "")


def hush(stream: TextIO) -> None:
    """Let what is still to be written go nowhere, so that the end of the process stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def screen(options: argparse.Namespace, language: str, *, stream: TextIO) -> Screen:
    """The screen as it is, where the user does not say otherwise."""
    if options.color != "auto":
        coloured = options.color == "always"
    else:
        capable = os.name != "nt" or any(name in os.environ for name in ("WT_SESSION", "ANSICON", "TERM"))
        refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        coloured = capable and not refused and stream.isatty()
    return Screen(
        width=options.width or columns(stream),
        colour=coloured,
        unicode=can(stream, _DRAWN),
        language=language,
        pasted=pasted if started_as() else None,
        stated=language != pick_language(),
    )


@cache
def started_as() -> str:
    """What was typed to start this program by a launcher; the programs that it starts do not see it."""
    return os.environ.pop(_STARTED, "")


def pasted(text: str) -> str:
    """A text whose commands begin with what this program was started by, so that they run as they are."""
    started = started_as()
    if not started or _PROGRAM not in text:
        return text
    import re

    from rigright.faces.cli.front import verbs

    command = rf"(?<![\w./-]){_PROGRAM} (?=(?:{'|'.join(verbs())}|help|--?[a-z][a-z-]*)(?![\w-]))"
    return re.sub(command, lambda _: f"{shlex.quote(started)} ", text)


def can(stream: TextIO, letters: str) -> bool:
    """Whether a stream can carry these letters."""
    try:
        letters.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns(stream: TextIO, *, unknown: int = _PIPE_CELLS) -> int:
    """How wide it is: as COLUMNS says, or the terminal."""
    text = os.environ.get("COLUMNS", "")
    if text.isdecimal() and int(text[:6]) > 0:
        return max(int(text[:6]), LEAST_CELLS)
    try:
        return max(os.get_terminal_size(stream.fileno()).columns or unknown, LEAST_CELLS)
    except (OSError, ValueError, AttributeError):
        return unknown


def wrapped(text: str, stream: TextIO) -> str:
    """A message as wide as the terminal; where a script reads it, one line."""
    cells = columns(stream, unknown=0) - len(_INDENT)
    return text if cells <= 0 else f"\n{_INDENT}".join(wrap_prose(text, cells))


def _look_alike(error: UnicodeError) -> tuple[str, int]:
    """Letters a stream cannot encode, by the nearest it can."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_LOOK_ALIKES.get(letter, _plain_dot(letter)) for letter in letters), error.end


def _plain_dot(letter: str) -> str:
    """A pattern of Braille dots is a dot of a drawing; nothing stands for other letters."""
    return "." if "\u2800" < letter <= "\u28ff" else "?"
