"""Keeps what a watch sees, and goes on without where it cannot: a full disk ends no watch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from rigright.base.errors import RigError
from rigright.base.words import Sentence
from rigright.machine.history.store import History, open_history
from rigright.machine.record import Machine
from rigright.machine.system import Event
from rigright.machine.tick import Tick

AGAIN_S = 60.0  # until a history that failed is tried again
MOST_WAITING = 600  # moments that wait for it meanwhile; the oldest go first
_MACHINE_S = 3600.0  # a machine is kept once an hour at most


class Keeper:
    """The history behind a watch, with what stands in its way."""

    def __init__(
        self, start: Callable[[], History] = open_history, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._start, self._clock = start, clock
        self._history: History | None = None
        self._waiting: deque[tuple[Tick, tuple[Event, ...]]] = deque(maxlen=MOST_WAITING)
        self._retry_s = clock()
        self.problem: Sentence | None = None

    @property
    def is_up(self) -> bool:
        """Whether what is seen is kept now."""
        return self._history is not None

    def add(self, tick: Tick, events: Iterable[Event] = ()) -> None:
        """Keep a moment and its events, after those that could not be kept before."""
        self._waiting.append((tick, tuple(events)))
        self._try(self._write)

    def add_machine(self, machine: Machine) -> None:
        """Keep the machine, unless it was kept lately."""
        self._try(lambda history: _add_machine(history, machine))

    def close(self) -> None:
        """Keep what still waits, if that can be now, and give the file back."""
        if self._waiting:
            self._retry_s = self._clock()
            self._try(self._write)
        self._let_go()

    def _write(self, history: History) -> None:
        while self._waiting:
            tick, events = self._waiting[0]
            history.add_events(events)
            history.add_tick(tick)
            self._waiting.popleft()

    def _let_go(self) -> None:
        if self._history is not None:
            with suppress(Exception):
                self._history.close()
            self._history = None

    def _try(self, act: Callable[[History], object]) -> None:
        if self._history is None and self._clock() < self._retry_s:
            return
        try:
            if self._history is None:
                self._history = self._start()
            act(self._history)
            self.problem = None
        except RigError as error:
            self._let_go()
            self.problem = error.sentence
            self._retry_s = self._clock() + AGAIN_S


def _add_machine(history: History, machine: Machine) -> None:
    now_s = machine.system.now_s or time.time()
    if not history.machines(now_s - _MACHINE_S, now_s + _MACHINE_S):
        history.add_machine(machine)
