"""What `watch` hands over each time it looks, what `history` holds of it, and who keeps it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from rigright.base.errors import RigError
from rigright.base.record import Flat, Inner, derived
from rigright.base.words import Sentence
from rigright.doctor.binding.judgement import JudgedCause
from rigright.machine.bench.record import Result
from rigright.machine.history.store import History, SeenMachine, open_history
from rigright.machine.host import NodePower
from rigright.machine.record import Machine
from rigright.machine.sampling.ports import PortUse
from rigright.machine.sampling.programs import ProgramUse
from rigright.machine.system import Event
from rigright.machine.tick import Tick

Of = Literal["ticks", "bench", "machines", "events"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What only somebody who looks at a screen wants of a moment."""

    uses: Mapping[int, ProgramUse] = field(default_factory=dict)  # by the number of the process
    ports: tuple[PortUse, ...] = ()
    machine: Machine | None = None  # as it was probed last
    causes: tuple[JudgedCause, ...] | None = None  # what the doctor found; None: not examined yet


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineMoment:
    """The machine now, what happened since the moment before, and what cannot be done."""

    tick: Flat[Tick]
    events: tuple[Event, ...] = ()
    notes: tuple[Sentence, ...] = ()  # lasting ones: no history, a closed log
    host_name: str = ""
    every_s: Inner[float] = 1.0
    serves: Inner[str | None] = None  # where the metrics are
    power: Inner[NodePower | None] = None  # of the whole node, as it was told last
    detail: Inner[Detail | None] = None  # None: nobody looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One quantity over a time."""

    column: str  # "gpu0.power_w"
    mean: float
    p95: float
    most: float
    least: float
    last: float
    values: tuple[float | None, ...]  # over the whole time, in equal stretches


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSpan:
    """One card over a time."""

    card: str  # "gpu0"
    name: str | None = None
    uuid: str | None = None
    figures: tuple[Figures, ...] = ()
    energy_j: float | None = None
    seen_s: float = 0.0  # time for which it was ok
    away_s: float = 0.0  # time for which it was lost, hung or its readings old
    slowed_s: tuple[tuple[str, float], ...] = ()  # reason -> at most so long


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The machine over a time."""

    path: str
    since_s: float | None
    until_s: float | None
    n_moments: int
    seen_s: float  # time for which there are moments
    cards: tuple[CardSpan, ...] = ()
    host: tuple[Figures, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What the history holds of a time; one of these is filled."""

    of: Of
    path: str
    since_s: float | None = None
    until_s: float | None = None
    span: Inner[Span | None] = None
    moments: Inner[tuple[Tick, ...]] = ()
    results: Inner[tuple[Result, ...]] = ()
    machines: Inner[tuple[SeenMachine, ...]] = ()
    events: Inner[tuple[Event, ...]] = ()

    @derived
    def filled(self) -> Flat[dict[str, object]]:
        """What it is of: `span` and `moments` of ticks; `results`, `machines` or `events`."""
        names = {"ticks": ("span", "moments"), "bench": ("results",)}.get(self.of, (self.of,))
        return {name: getattr(self, name) for name in names}


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
