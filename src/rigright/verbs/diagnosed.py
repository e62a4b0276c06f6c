"""What binds a machine, with what the doctor and earlier benchmarks say of it."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence
from rigright.doctor.binding.judgement import Judgement
from rigright.doctor.binding.record import Bound, Diagnosis
from rigright.doctor.record import Finding, Step
from rigright.machine.bench.record import Result
from rigright.machine.host import NodePower
from rigright.machine.tick import Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A benchmark that gives another figure than at first."""

    now: Result
    first: Result

    TOLD = "part=now.part what=now.what on=now.on unit=now.unit first=first.value now=now.value ratio"

    @property
    def ratio(self) -> float:
        """Now over then; above one is more."""
        return self.now.value / self.first.value

    @property
    def worse(self) -> bool:
        """Whether it is the worse way: a time may not grow, a rate may not fall."""
        return self.ratio > 1 if self.now.unit == "s" else self.ratio < 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldBound:
    """What holds the work back, and what helps."""

    bound: Bound
    remedies: tuple[Step, ...]

    TOLD = """
        cause=bound.cause.name title=bound.cause.title side=bound.cause.side share=bound.share
        seen=bound.seen most_gain evidence=bound.evidence remedies
    """

    @property
    def most_gain(self) -> float | None:
        """How many times as fast all would be, were this endlessly fast."""
        return None if self.bound.share >= 1 else self.bound.most_gain


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckReport:
    """The answer of `diagnose`."""

    source: Sentence  # which time it is about
    judgement: Judgement
    ticks: tuple[Tick, ...]
    power: NodePower | None = None  # of the whole node, at the end of what was watched
    origin: str = "live"  # or the file that shows one moment of a machine
    drifts: tuple[Drift, ...] = ()
    names: tuple[tuple[int, str], ...] = ()  # device -> its name
    cut: tuple[str, ...] = ()  # of the file: what was read only in part

    TOLD = """
        origin source verdict! cut lasted_s=diagnosis.lasted_s moments=diagnosis.moments
        node_power=power idle=diagnosis.idle busy_share=diagnosis.busy_share devices=diagnosis.devices
        lead=judgement.first bounds=told_bounds drifts findings{check=0 *1}
        unseen=diagnosis.unseen notes=diagnosis.notes
    """

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

    @property
    def told_bounds(self) -> tuple[ToldBound, ...]:
        """The most binding first."""
        return tuple(
            ToldBound(bound=one, remedies=self.judgement.steps(one)) for one in self.diagnosis.bounds
        )
