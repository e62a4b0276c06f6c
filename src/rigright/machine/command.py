"""A command of the user's, run as if nobody stood between: streams, signals and exit code are its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from rigright.base.errors import CommandError
from rigright.base.units import KIB
from rigright.base.words import say

_SIGNALLED = 128  # a shell adds the signal's number to it
_NOT_ALLOWED = 126
_FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGHUP")  # a terminal sends these to all in front of it
_PASSED_ON = ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGBREAK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    exit_code: int  # as a shell tells it
    by_signal: str | None  # "SIGKILL"
    lasted_s: float
    cpu_s: float | None = None  # of it and of all it waited for
    largest_bytes: float | None = None  # main memory of the largest of them


@contextmanager
def started(argv: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start it; while it runs, signals that reach us are passed on to it."""
    with _passing_on() as passed_to:
        try:
            process = subprocess.Popen(list(argv))
        except (OSError, ValueError) as error:
            raise _cannot_start(argv[0], error) from None
        passed_to(process)
        yield process


def wait(process: subprocess.Popen[bytes], *, since_s: float) -> Ended:
    """Wait until it ends, and hear from the system what it used."""
    cpu_s, largest_bytes = _used(process) if hasattr(os, "wait4") else (None, None)
    code = process.wait()
    return Ended(
        exit_code=_SIGNALLED - code if code < 0 else code,
        by_signal=_signal_name(-code) if code < 0 else None,
        lasted_s=time.monotonic() - since_s,
        cpu_s=cpu_s,
        largest_bytes=largest_bytes,
    )


def _used(process: subprocess.Popen[bytes]) -> tuple[float, float | None]:
    """Seconds of CPU and the most memory; a child starts with our own peak, so that no less can be stated."""
    import resource

    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else KIB
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used.ru_utime + used.ru_stime, used.ru_maxrss * unit if used.ru_maxrss > ours else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextmanager
def _passing_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Until the end every signal goes to the command, once: what its terminal sends it has already."""
    reach: list[subprocess.Popen[bytes]] = []
    early: list[int] = []  # came while it started

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if signal.Signals(number).name in _FROM_TERMINAL and _in_front():
            return
        if not reach:
            early.append(number)
        for process in reach:
            if process.returncode is None:  # send_signal would take note of its end, and wait4 hear nothing
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)

    def passed_to(process: subprocess.Popen[bytes]) -> None:
        reach.append(process)
        for number in early:
            pass_on(number, None)

    numbers = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in (value for value in numbers if before[value] is not signal.SIG_IGN):  # nohup stays nohup
        signal.signal(number, pass_on)
    try:
        yield passed_to
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _in_front() -> bool:
    """Whether a terminal is ours to listen to, so that its keys reach the command too."""
    if not hasattr(os, "tcgetpgrp"):
        return sys.stdin.isatty()
    try:
        with open("/dev/tty", "rb") as terminal:  # noqa: PTH123 - the terminal is no file of ours
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _cannot_start(program: str, error: Exception) -> CommandError:
    if isinstance(error, FileNotFoundError):
        return CommandError(
            say('command not found: "{program}"; give its path, or add it to PATH', program=program)
        )
    why = getattr(error, "strerror", None) or str(error)
    refused = CommandError(say('the command "{program}" cannot be started: {why}', program=program, why=why))
    refused.exit_code = _NOT_ALLOWED
    return refused
