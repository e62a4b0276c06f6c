"""Starts a program that reaches other machines, speaks to it, hears it line by line, and ends it in time."""

from __future__ import annotations

import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import IO, Literal

from rigright.base.patience import patience
from rigright.base.units import GIB, KIB
from rigright.machine.ending import send

_MOST_LINE = 64 * KIB
_MOST_HEARD = GIB  # of all nodes behind one program
_MOST_COMPLAINTS = 200  # lines of its standard error, the last ones
_LOOK_S = 0.1
_FAREWELL_S = 2.0  # between asking a program to end and ending it


@dataclass(frozen=True, slots=True, kw_only=True)
class Talked:
    """How a talk ended."""

    ended: Literal["done", "late", "broken off", "absent"]
    code: int | None = None
    output: bytes = b""  # where nobody else heard it
    complaints: tuple[str, ...] = ()  # what it wrote to standard error


def talk(
    argv: Sequence[str],
    *,
    data: bytes = b"",
    heard: Callable[[bytes], None] | None = None,
    patience_s: float,
    stop: Event | None = None,
    env: Mapping[str, str] | None = None,
) -> Talked:
    """Say something to a program and hear it out; its standard input stays open until it ends."""
    try:
        process = subprocess.Popen(
            list(argv),
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return Talked(ended="absent")
    output = bytearray()
    complaints: deque[str] = deque(maxlen=_MOST_COMPLAINTS)
    threads = {
        process.stdin: Thread(target=_speak, args=(process.stdin, data), daemon=True),
        process.stdout: Thread(target=_listen, args=(process.stdout, heard or output.extend), daemon=True),
        process.stderr: Thread(
            target=_listen,
            args=(process.stderr, lambda item: complaints.append(item.decode("utf-8", "replace").strip())),
            daemon=True,
        ),
    }
    for thread in threads.values():
        thread.start()
    try:
        ended = _wait(process, patience_s=patience_s, stop=stop or Event())
    finally:
        # ask it to end, then end it and all it started
        if process.poll() is None:
            send(process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(patience(_FAREWELL_S))
        if process.poll() is None:
            send(process)
            with suppress(subprocess.TimeoutExpired):
                process.wait(patience(_FAREWELL_S))
        _close(threads)
    return Talked(ended=ended, code=process.returncode, output=bytes(output), complaints=tuple(complaints))


def _close(threads: Mapping[IO[bytes] | None, Thread]) -> None:
    """Hear the last words; a stream that something left behind still holds is left open."""
    for stream, thread in threads.items():
        thread.join(patience(_FAREWELL_S))
        if stream is not None and not thread.is_alive():
            with suppress(OSError, ValueError):
                stream.close()


def _speak(stream: IO[bytes] | None, data: bytes) -> None:
    with suppress(OSError, ValueError):
        if stream is not None:
            stream.write(data)
            stream.flush()


def _listen(stream: IO[bytes] | None, heard: Callable[[bytes], None]) -> None:
    """Every line, longer ones in pieces; past the limit it is read and forgotten, so that nobody blocks."""
    left = _MOST_HEARD
    while stream is not None:
        try:
            line = stream.readline(_MOST_LINE)
        except (OSError, ValueError):  # it was closed
            return
        if not line:
            return
        left -= len(line)
        if left > 0:
            heard(line)


def _wait(
    process: subprocess.Popen[bytes], *, patience_s: float, stop: Event
) -> Literal["done", "late", "broken off"]:
    until = time.monotonic() + patience_s
    while process.poll() is None:
        if time.monotonic() > until:
            return "late"
        if stop.wait(_LOOK_S):
            return "broken off"
    return "done"
