"""A screen that is drawn over and over, and the keys pressed meanwhile; always given back as it was."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import zip_longest
from typing import Any, Self

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"  # a screen of its own, no cursor, no line wraps
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # shown at once, where the terminal knows how
_SLICE_S = 0.25  # until a new size of the window is noticed
_LEAST = (20, 4)  # columns, lines


def can_live() -> bool:
    """Whether somebody looks, at a terminal that can be drawn over."""
    capable = os.name != "nt" or any(name in os.environ for name in ("WT_SESSION", "ANSICON", "TERM"))
    return capable and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()


class Live:
    """The screen while it is ours; a context manager."""

    def __init__(self) -> None:
        self._mode: list[Any] | None = None
        self._before: dict[int, Any] = {}
        self._drawn: tuple[tuple[int, int], list[str]] | None = None  # size of the window, and its lines
        self._draws = self._wants_pause = False

    def __enter__(self) -> Self:
        try:
            for name, handle in (("SIGTSTP", self._pause), ("SIGHUP", _stop), ("SIGTERM", _stop)):
                if hasattr(signal, name):
                    number = getattr(signal, name)
                    self._before[number] = signal.signal(number, handle)
            self._take()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._give()
        except KeyboardInterrupt:  # pressed again meanwhile: all the same
            self._give()
            raise
        finally:
            for number, handle in self._before.items():
                signal.signal(number, handle)

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        try:
            row = os.get_terminal_size(sys.stdout.fileno())
        except (OSError, ValueError):
            return 80, 24
        return max(row.columns, _LEAST[0]), max(row.lines, _LEAST[1])

    def draw(self, lines: list[str]) -> None:
        """Show these lines and nothing else; only those that changed are written."""
        self._draws = True  # a pause between what is written and what is known to be there would lose both
        try:
            size = self.size()
            before = self._drawn[1] if self._drawn is not None and self._drawn[0] == size else None
            self._drawn = None  # while it is written nobody knows what is there
            if before is None:
                text = "\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J"
            else:
                pairs = enumerate(zip_longest(lines, before, fillvalue=""))
                text = "".join(f"\x1b[{row + 1};1H{now}\x1b[K" for row, (now, was) in pairs if now != was)
            if text:
                sys.stdout.write(_BEGIN + text + _END)
                sys.stdout.flush()
            self._drawn = size, list(lines)
        finally:
            self._draws = False
        if self._wants_pause:
            self._pause()

    def wait(self, rest_s: float, *, redraw: Callable[[], object]) -> str | None:
        """Wait for a key; drawn anew when the window changes its size."""
        until_s, size = time.monotonic() + rest_s, self.size()
        while (left_s := until_s - time.monotonic()) > 0:
            key = _key(min(left_s, _SLICE_S))
            if key is not None:
                return key
            if self.size() != size:
                size = self.size()
                redraw()
        return None

    def _take(self) -> None:
        with suppress(ImportError, OSError, ValueError):
            import termios
            import tty

            if sys.stdin.isatty():
                self._mode = termios.tcgetattr(sys.stdin.fileno())
                tty.setcbreak(sys.stdin.fileno())
        self._drawn = None
        sys.stdout.write(_ENTER)
        sys.stdout.flush()

    def _give(self) -> None:
        with suppress(OSError, ValueError):
            sys.stdout.write(_LEAVE)
            sys.stdout.flush()
        if self._mode is not None:
            import termios

            with suppress(termios.error, OSError, ValueError):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._mode)
            self._mode = None

    def _pause(self, _number: int = 0, _frame: object = None) -> None:
        """Ctrl-Z: the terminal as it was while we sleep, ours again when we wake; a drawing ends before."""
        self._wants_pause = self._draws
        if self._draws:
            return
        self._give()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._pause)
        self._take()


def _stop(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _key(wait_s: float) -> str | None:
    """A key, or None after the wait; where keys cannot be read, just the wait."""
    try:
        import select

        if os.name == "nt" or not sys.stdin.isatty():
            raise OSError  # noqa: TRY301 - the same way out
        ready, _, _ = select.select([sys.stdin], [], [], wait_s)
        return os.read(sys.stdin.fileno(), 1024).decode("utf-8", "replace") if ready else None
    except (OSError, ValueError):
        time.sleep(wait_s)
        return _windows_key()


def _windows_key() -> str | None:
    if os.name != "nt":
        return None
    import msvcrt

    return msvcrt.getwch() if msvcrt.kbhit() else None  # type: ignore[attr-defined,no-any-return,unused-ignore]
