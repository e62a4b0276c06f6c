"""NVIDIA's driver at one moment, asked from a thread of its own: one that hangs never holds up the rest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Condition, Thread
from typing import Protocol

from rigright.machine.tick import DeviceTick
from rigright.machine.world import World

WAIT_S = 0.4  # for an answer, before the last one is shown again
PATIENCE_S = 3.0  # of the session with its own child
_REST_S = 5.0  # after a session that could not be opened


class DriverNeeds(Protocol):
    """What is needed of a session with a driver."""

    def tick(self) -> tuple[DeviceTick, ...]:
        """The devices now."""

    def close(self) -> None:
        """End it."""


class DriverReader:
    """The newest readings, with their age where the driver has not answered in time."""

    def __init__(self, start: Callable[[], DriverNeeds], clock: Callable[[], float] = time.monotonic) -> None:
        self._start, self._clock = start, clock
        self._wake = Condition()
        self._asked = self._answered = 0
        self._devices: tuple[DeviceTick, ...] = ()
        self._read_s, self._failed = clock(), False
        self._closing = False
        self._thread: Thread | None = None

    def read(self, wait_s: float = WAIT_S) -> tuple[DeviceTick, ...]:
        """The devices now, or as they were with state "stale" and an age."""
        with self._wake:
            self._ask()
            answered = self._wake.wait_for(lambda: self._asked == self._answered, wait_s)
            if answered and not self._failed:
                return self._devices
            age_s = self._clock() - self._read_s
            return tuple(
                replace(tick, state="stale" if tick.state == "ok" else tick.state, age_s=age_s)
                for tick in self._devices
            )

    def wake(self) -> None:
        """Ask without waiting; the next reading takes the answer."""
        with self._wake:
            self._ask()

    def _ask(self) -> None:
        if self._asked == self._answered:
            self._asked += 1
        if self._thread is None:
            thread = Thread(target=self._work, daemon=True, name="driver")
            thread.start()  # an interrupt that comes meanwhile leaves no thread that is not begun
            self._thread = thread
        self._wake.notify_all()

    def close(self) -> None:
        """Let the thread end; one that hangs in the driver ends with the program."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join(WAIT_S)

    def _work(self) -> None:
        session: DriverNeeds | None = None
        retry_s = 0.0
        while self._waits():
            if session is None and self._clock() >= retry_s:
                with suppress(Exception):
                    session = self._start()
                retry_s = self._clock() + _REST_S
            devices: tuple[DeviceTick, ...] | None = ()
            try:
                devices = () if session is None else session.tick()
            except Exception:  # noqa: BLE001 - a driver may fail in any way; it is asked again
                _end(session)
                devices = session = None
            self._answer(devices)
        _end(session)

    def _answer(self, devices: tuple[DeviceTick, ...] | None) -> None:
        """Hand over what was read; None where reading failed, and the last readings grow old."""
        with self._wake:
            self._failed = devices is None
            if devices is not None:
                self._devices, self._read_s = _remembered(self._devices, devices), self._clock()
            self._answered = self._asked
            self._wake.notify_all()

    def _waits(self) -> bool:
        """Sleep until somebody asks; False when all is over."""
        with self._wake:
            self._wake.wait_for(lambda: self._closing or self._asked != self._answered)
            return not self._closing


def nvml_session(world: World, *, activity: bool = False) -> DriverNeeds:
    """A session with NVIDIA's driver."""
    from rigright.machine.nvml.session import Session

    return Session(dict(world.env or os.environ), patience_s=PATIENCE_S, activity=activity)


def _remembered(before: tuple[DeviceTick, ...], now: tuple[DeviceTick, ...]) -> tuple[DeviceTick, ...]:
    """What was seen and is not any more is lost, not gone; a card without a name keeps the one it had."""
    known = {item.index: item for item in before}
    ticks = {item.index: _named(item, known.get(item.index)) for item in now}
    for index, tick in known.items():
        if index not in ticks:
            ticks[index] = DeviceTick(index=index, uuid=tick.uuid, name=tick.name, state="lost")
    return tuple(ticks[index] for index in sorted(ticks))


def _named(now: DeviceTick, before: DeviceTick | None) -> DeviceTick:
    if before is None or (now.uuid and now.name):
        return now
    return replace(now, uuid=now.uuid or before.uuid, name=now.name or before.name)


def _end(session: DriverNeeds | None) -> None:
    if session is not None:
        with suppress(Exception):
            session.close()
