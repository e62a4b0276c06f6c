"""The child as its parent holds it: lines out, lines in within a patience, and an end that never waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from rigright.base.units import MIB

MOST_LINE = 16 * MIB
_START = (  # -P would do the same, from Python 3.11 on
    "import sys; sys.path[:] = [one for one in sys.path if one]; "
    "from rigright.machine.nvml.child import main; main()"
)
_GOODBYE_S = 0.2


class Gone(Exception):  # noqa: N818 - it is no error of ours
    """The child is no more: the driver took it down."""


class Hung(Exception):  # noqa: N818
    """The child said nothing in time."""


def arguments() -> list[str]:
    """How a child is started: without site, for it is given all paths already."""
    return [sys.executable, "-S", "-c", _START]


class Process:
    """One child."""

    def __init__(self, env: Mapping[str, str]) -> None:
        paths = [path for path in sys.path if path]
        self._process = subprocess.Popen(
            arguments(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**env, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "ignore"},
            start_new_session=True,  # Ctrl-C is for us
        )
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        Thread(target=self._read, daemon=True, name="nvml").start()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def _read(self) -> None:
        with suppress(OSError, ValueError), self._process.stdout as lines:  # type: ignore[union-attr]
            while line := lines.readline(MOST_LINE):
                self._lines.put(line)
        self._lines.put(b"")

    def say(self, request: Any) -> None:
        """Send one line."""
        try:
            self._process.stdin.write(json.dumps(request, separators=(",", ":")).encode() + b"\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
        except OSError:
            raise Gone from None

    def hear(self, patience_s: float) -> dict[str, Any]:
        """The next line."""
        try:
            line = self._lines.get(timeout=max(patience_s, 0.0))
        except Empty:
            raise Hung from None
        try:
            value = json.loads(line)
        except ValueError:
            raise Gone from None
        if not isinstance(value, dict):
            raise Gone
        return value

    def ended(self) -> bool:
        """Whether the system has let it go."""
        return self._process.poll() is not None

    def end(self, *, kindly: bool = False) -> bool:
        """End it: a healthy one may finish, any other is killed; False where even that does not end it."""
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        if not kindly:
            self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GOODBYE_S)
        if not self.ended():
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GOODBYE_S)
        return self.ended()
