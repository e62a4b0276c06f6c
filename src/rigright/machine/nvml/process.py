"""The child as its parent holds and asks it, so that a call that hangs or takes it down is got over.

Asked quietly, the child sends one line for all. Asked aloud it names each call before it makes it, so that
the one where it falls silent is known, and can be left out by the next child.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from rigright.base.patience import patience
from rigright.base.units import MIB
from rigright.machine.nvml.codes import DIED, HUNG, SLOW
from rigright.machine.nvml.readings import plans

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


SYSTEM = -1
START_S = 20.0  # of the library: without persistence it wakes every device first, some seconds each
HANDLE_S = 3.0  # of one device
MOST_STUCK = 3  # children that even a kill did not end; more are not started

Found = dict[int, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlTrouble:
    """Why the driver as a whole does not answer."""

    code: int  # of the driver, or HUNG, DIED
    missing: bool = False  # the binding is not installed


@dataclass(slots=True, frozen=True, kw_only=True)
class _NvmlAnswer:
    """What came back, as the child said it."""

    readings: Found
    done: frozenset[int] = frozenset()  # devices that were read to the end
    rest: Mapping[str, Any] = field(default_factory=dict)
    culprit: tuple[int, str] | None = None  # the call that never came back
    code: int = 0  # HUNG, DIED or SLOW then


class Asking:
    """A child for as long as it lives, and the next one after it."""

    def __init__(self, env: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._env, self._clock = env, clock
        self._process: Process | None = None
        self._stuck: list[Process] = []
        self.system: dict[str, Any] = {}
        self.trouble: NvmlTrouble | None = None

    @property
    def pid(self) -> int | None:
        """Of the child that lives now."""
        return None if self._process is None else self._process.pid

    def patience(self, wait_s: float) -> float:
        """A wait as long as the child's environment has it."""
        return patience(wait_s, self._env)

    def ready(self, until_s: float) -> bool:
        """Have a child whose library is open; else `trouble` says why there is none."""
        if self._process is not None:
            return True
        self._stuck = [process for process in self._stuck if not process.ended()]
        if len(self._stuck) >= MOST_STUCK:
            self.trouble = NvmlTrouble(code=HUNG)
            return False
        try:
            self._open(Process(self._env), until_s)
        except Hung:
            self._fail(NvmlTrouble(code=HUNG))
        except Gone:
            self._fail(NvmlTrouble(code=DIED))
        except OSError:  # no process can be started at all
            self._fail(NvmlTrouble(code=DIED))
        return self.trouble is None

    def _open(self, process: Process, until_s: float) -> None:
        self._process = process
        process.say(plans())
        until_s = min(until_s, self._clock() + self.patience(START_S))
        fields = process.hear(until_s - self._clock())
        while "at" in fields:
            fields = process.hear(until_s - self._clock())
        if "missing" in fields or "failed" in fields:
            self._fail(NvmlTrouble(code=int(fields.get("failed", 0)), missing="missing" in fields))
            return
        self.trouble, self.system = None, dict(fields["system"])

    def _fail(self, trouble: NvmlTrouble) -> None:
        self.trouble = trouble
        self.drop()

    def drop(self, *, kindly: bool = False) -> None:
        """End the child; one that cannot be ended is left to itself."""
        process, self._process = self._process, None
        if process is not None and not process.end(kindly=kindly):
            self._stuck.append(process)

    def quietly(self, request: Mapping[str, Any], patience_s: float) -> _NvmlAnswer | None:
        """All in one line; None where the child hung or died, and nobody knows where."""
        process = self._process
        if process is None:
            return None
        try:
            process.say(request)
            fields = process.hear(patience_s)
        except (Hung, Gone):
            self.drop()
            return None
        result = {int(device): dict(readings) for device, readings in fields.get("all", ())}
        return _NvmlAnswer(readings=result, done=frozenset(result), rest=fields)

    def aloud(self, request: Mapping[str, Any], *, patience_s: float, until_s: float) -> _NvmlAnswer:
        """Call by call, each with its own patience."""
        process, at = self._process, (SYSTEM, "start")
        fields: Found = {}
        done: set[int] = set()
        if process is None:
            return _NvmlAnswer(readings=fields, culprit=at, code=DIED)
        try:
            process.say({**request, "aloud": True})
            while True:
                most_s = max(patience_s, self.patience(HANDLE_S)) if at[1] == "handle" else patience_s
                given = process.hear(min(most_s, until_s - self._clock()))
                if "at" in given:
                    at = (int(given["at"][0]), str(given["at"][1]))
                elif "of" in given:
                    device, reading = given["of"]
                    fields.setdefault(device, {})[reading] = given["is"]
                    done |= {device} if reading == "done" else set()
                else:
                    return _NvmlAnswer(readings=fields, done=frozenset(done), rest=given)
        except (Hung, Gone) as fault:
            self.drop()
            code = DIED if isinstance(fault, Gone) else SLOW if self._clock() >= until_s else HUNG
            return _NvmlAnswer(readings=fields, done=frozenset(done), culprit=at, code=code)
