"""What binds a machine, with what the doctor and earlier benchmarks say of it."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence
from rigright.doctor.binding.judgement import Judgement
from rigright.doctor.binding.record import Diagnosis
from rigright.doctor.record import Finding
from rigright.machine.bench.record import Result
from rigright.machine.host import NodePower
from rigright.machine.tick import Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A benchmark that gives another figure than at first."""

    now: Result
    first: Result

    @property
    def ratio(self) -> float:
        """Now over then; above one is more."""
        return self.now.value / self.first.value

    @property
    def worse(self) -> bool:
        """Whether it is the worse way: a time may not grow, a rate may not fall."""
        return self.ratio > 1 if self.now.unit == "s" else self.ratio < 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """The answer of `diagnose`."""

    source: Sentence  # which time it is about
    judgement: Judgement
    ticks: tuple[Tick, ...]
    power: NodePower | None = None  # of the whole node, at the end of what was watched
    origin: str = "live"  # or the file that shows one moment of a machine
    drifts: tuple[Drift, ...] = ()
    names: tuple[tuple[int, str], ...] = ()  # device -> its name

    @property
    def is_snapshot(self) -> bool:
        """Whether it is about one moment that a file shows."""
        return self.origin != "live"

    @property
    def diagnosis(self) -> Diagnosis:
        """What binds, over the time that was watched."""
        return self.judgement.diagnosis or Diagnosis(lasted_s=0.0, moments=0, idle=0, busy_share=None)

    @property
    def findings(self) -> tuple[tuple[str, Finding], ...]:
        """What the doctor finds of the things that bind, and each fault; all of it, where nothing ran."""
        names = {bound.cause.name for bound in self.diagnosis.bounds}
        return tuple(
            (one.check, one.finding)
            for one in self.judgement.bad
            if not names or one.finding.severity == "fault" or names & set(one.row.binds)
        )
