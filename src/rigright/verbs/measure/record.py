"""What a command took, as measured while it ran."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.record import Pairs, derived
from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One quantity over the command's time, in SI units and bytes."""

    name: str  # "gpu 0 memory", "cpu"
    label: Sentence
    unit: str  # "bytes", "share", "w", "c", "cores", "bytes_per_s"
    peak: float
    median: float
    mean: float
    values: tuple[float | None, ...]  # the highest of each stretch
    before: float | None = None  # at the first look, before the command or just behind its start


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFigure:
    """A figure of a plan, and what was measured."""

    name: str  # "memory", "power", "speed"
    label: Sentence
    unit: str
    planned: float
    low: float
    high: float
    measured: float

    @derived
    def inside(self) -> bool:
        """Whether the plan's band holds it."""
        return self.low <= self.measured <= self.high

    @property
    def ratio(self) -> float:
        """Measured over planned."""
        return self.measured / self.planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A whole command."""

    command: tuple[str, ...]
    exit_code: int
    by_signal: str | None
    at_s: float
    lasted_s: float
    samples: int
    every_s: float
    courses: tuple[Course, ...]
    gpu_peak_bytes: Pairs[int, float]  # what the command added to each device it used
    host_peak_bytes: float | None
    cpu_s: float | None
    read_bytes: float | None
    written_bytes: float | None
    energy_j: Pairs[int, float]  # of each whole card while it ran
    slowed_s: Pairs[str, float]  # "gpu 0 sw_power_cap" -> seconds
    chips: tuple[str, ...]  # names of the devices that were used
    working_w: Pairs[int, float] = ()  # what each card drew on average while it had work
    first_look_s: float | None = None  # behind the start; 0: the cards were seen before it
    steps: float | None = None
    tokens: float | None = None
    held: tuple[PlannedFigure, ...] = ()
    notes: tuple[Sentence, ...] = ()

    @property
    def total_energy_j(self) -> float | None:
        """Of all cards together."""
        return sum(joules for _, joules in self.energy_j) if self.energy_j else None
