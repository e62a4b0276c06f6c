"""What binds a machine, with what the doctor and earlier benchmarks say of it."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.record import Inner, derived
from rigright.base.words import Sentence
from rigright.doctor.binding.judgement import JudgedCause, Judgement
from rigright.doctor.binding.record import Bound, Diagnosis
from rigright.doctor.examine import exit_of
from rigright.doctor.record import CheckFinding, Evidence, Step
from rigright.machine.bench.record import SMALLER_IS_BETTER, Result
from rigright.machine.host import NodePower
from rigright.machine.tick import Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A benchmark that gives another figure than at first."""

    latest: Inner[Result]
    earliest: Inner[Result]

    @derived
    def part(self) -> str:
        """Of the benchmarks."""
        return self.latest.part

    @derived
    def what(self) -> str:
        """What was measured."""
        return self.latest.what

    @derived
    def on(self) -> str:
        """What it was measured on."""
        return self.latest.on

    @derived
    def unit(self) -> str:
        """Of both figures."""
        return self.latest.unit

    @derived
    def first(self) -> float:
        """The first that was measured."""
        return self.earliest.value

    @derived
    def now(self) -> float:
        """The last that was measured."""
        return self.latest.value

    @derived
    def ratio(self) -> float:
        """Now over then; above one is more."""
        return self.latest.value / self.earliest.value

    @property
    def worse(self) -> bool:
        """Whether it is the worse way: a time may not grow, a rate may not fall."""
        return self.ratio > 1 if self.latest.unit in SMALLER_IS_BETTER else self.ratio < 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundWithHelp:
    """What holds the work back, and what helps."""

    bound: Inner[Bound]
    remedies: tuple[Step, ...]

    @derived
    def cause(self) -> str:
        """Its name in the table of causes."""
        return self.bound.cause.name

    @derived
    def title(self) -> Sentence:
        """It in words."""
        return self.bound.cause.title

    @derived
    def side(self) -> str:
        """Of the GPU, the host ..."""
        return self.bound.cause.side

    @derived
    def share(self) -> float:
        """Of the time in which anything ran."""
        return self.bound.share

    @derived
    def seen(self) -> bool:
        """Whether it was seen; else concluded, because nothing else was full."""
        return self.bound.seen

    @derived
    def evidence(self) -> Evidence:
        """What shows it."""
        return self.bound.evidence

    @derived
    def most_gain(self) -> float | None:
        """How many times as fast all would be, were this endlessly fast."""
        return None if self.bound.share >= 1 else self.bound.most_gain


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckReport:
    """The answer of `diagnose`."""

    source: Sentence  # which time it is about
    judgement: Inner[Judgement]
    ticks: Inner[tuple[Tick, ...]]
    node_power: NodePower | None = None  # of the whole node, at the end of what was watched
    origin: str = "live"  # or the file that shows one moment of a machine
    drifts: tuple[Drift, ...] = ()
    names: Inner[tuple[tuple[int, str], ...]] = ()  # device -> its name
    cut: tuple[str, ...] = ()  # of the file: what was read only in part

    @property
    def exit_code(self) -> int:
        """As of the doctor: by the worst that is to be mended first."""
        return exit_of(cause.finding.severity for cause in self.judgement.bad)

    @derived
    def lasted_s(self) -> float:
        """How long it was watched."""
        return self.diagnosis.lasted_s

    @derived
    def moments(self) -> int:
        """Moments in which something ran."""
        return self.diagnosis.moments

    @derived
    def idle(self) -> int:
        """Moments in which nothing did."""
        return self.diagnosis.idle

    @derived
    def busy_share(self) -> float | None:
        """Of the used devices while something ran; None: no device."""
        return self.diagnosis.busy_share

    @derived
    def devices(self) -> tuple[int, ...]:
        """Those that were used."""
        return self.diagnosis.devices

    @derived
    def lead(self) -> JudgedCause | None:
        """What to act on first."""
        return self.judgement.first

    @derived
    def unseen(self) -> tuple[Sentence, ...]:
        """Causes that could not be looked at."""
        return self.diagnosis.unseen

    @derived
    def notes(self) -> tuple[Sentence, ...]:
        """What to know of it."""
        return self.diagnosis.notes

    @property
    def is_snapshot(self) -> bool:
        """Whether it is about one moment that a file shows."""
        return self.origin != "live"

    @property
    def diagnosis(self) -> Diagnosis:
        """What binds, over the time that was watched."""
        return self.judgement.diagnosis or Diagnosis(lasted_s=0.0, moments=0, idle=0, busy_share=None)

    @derived
    def findings(self) -> tuple[CheckFinding, ...]:
        """What the doctor finds of the things that bind, and each fault; all of it, where nothing ran."""
        names = {bound.cause.name for bound in self.diagnosis.bounds}
        return tuple(
            CheckFinding(cause.check, cause.finding)
            for cause in self.judgement.bad
            if not names or cause.finding.severity == "fault" or names & set(cause.row.binds)
        )

    @derived
    def bounds(self) -> tuple[BoundWithHelp, ...]:
        """The most binding first."""
        return tuple(
            BoundWithHelp(bound=bound, remedies=self.judgement.steps(bound))
            for bound in self.diagnosis.bounds
        )
