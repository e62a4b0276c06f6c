"""Follows the kernel's log: what it held when we came, and each new line as it comes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rigright.base.units import KIB, MEGA
from rigright.machine.running.log_lines import event_of
from rigright.machine.system import Event
from rigright.machine.world import World

_DEVICE = "/dev/kmsg"
_RECORD = re.compile(r"\d+,\d+,(\d{1,17}),[^;]*;(.*)")
_MOST_RECORDS = 20_000  # of one reading: the ring holds no more
_MOST_BYTES = 8 * KIB  # of one record, as the kernel says


class LogReader:
    """New events of the kernel's log at every call; nothing where it is closed to us."""

    def __init__(
        self,
        world: World,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._clock, self._wall = clock, wall
        self._file = _opened(world.at(_DEVICE)) if world.is_live else None

    @property
    def is_open(self) -> bool:
        """Whether it can be followed."""
        return self._file is not None

    def read(self) -> tuple[Event, ...]:
        """What it stated since the last call; at the first call, all it still holds."""
        if self._file is None:
            return ()
        booted_s = self._wall() - self._clock()  # the log counts with the clock that never jumps
        events = []
        for record in _records(self._file):
            match = _RECORD.match(record)
            event = event_of(match[2]) if match else None
            if match and event:
                up_s = int(match[1]) / MEGA
                events.append(replace(event, up_s=up_s, at_s=booted_s + up_s))
        return tuple(events)

    def close(self) -> None:
        """Let go of it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _opened(path: Path) -> int | None:
    if not hasattr(os, "O_NONBLOCK"):
        return None
    with suppress(OSError):
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    return None


def _records(file: int) -> Iterator[str]:
    """Records that wait to be read; those that were overwritten meanwhile are passed over."""
    for _ in range(_MOST_RECORDS):
        try:
            raw = os.read(file, _MOST_BYTES)
        except BrokenPipeError:
            continue
        except OSError:
            return
        if not raw:
            return
        yield from raw.decode("utf-8", "replace").splitlines()
