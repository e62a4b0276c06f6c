"""What `watch` hands over each time it looks, and what `history` holds of a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rigright.base.record import Flat, Inner, derived
from rigright.base.words import Sentence
from rigright.doctor.binding.judgement import JudgedCause
from rigright.machine.bench.record import Result
from rigright.machine.history.store import SeenMachine
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
