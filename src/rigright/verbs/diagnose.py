"""What binds this machine: watched now, or over a time that its history holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rigright.base.errors import AskError, MissingError, RigError
from rigright.base.record import Inner, derived
from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.binding.judge import judge
from rigright.doctor.binding.judgement import JudgedCause, Judgement, conclude, tick_of, watched
from rigright.doctor.binding.record import WORKING, Bound, Diagnosis
from rigright.doctor.examine import case_of, examine, exit_of
from rigright.doctor.record import CheckFinding, CheckInput, Evidence, Step
from rigright.machine.bench.record import SMALLER_IS_BETTER, Result, same_job
from rigright.machine.history.store import open_history
from rigright.machine.host import NodePower
from rigright.machine.parts.node_power import node_power
from rigright.machine.record import Machine
from rigright.machine.sampling.sampler import Sampler
from rigright.machine.tick import Tick
from rigright.machine.world import here
from rigright.verbs.probe import probe, results_of


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


_LIVE_S, EVERY_S = 20.0, 0.5
_RECENT_S = 600.0  # of the history, where nobody says which time
_LEAST_TICKS = 5
_DRIFTED = 0.05  # a benchmark that changed by less is the same

Progress = Callable[[float, float], None]


def diagnose(
    source: str | None = None,
    *,
    since_s: float | None = None,
    live_s: float | None = None,
    history: str | None = None,
    progress: Progress | None = None,
) -> BottleneckReport:
    """Which one thing everything else waits for, with the evidence and what would change.

    `source` is a file that shows one moment of a machine; without it this one is watched.
    """
    if since_s is not None and live_s is not None:
        raise AskError(say("--since uses the history, --for samples now: use one of them"))
    if source is not None and (since_s, live_s, history) != (None, None, None):
        raise AskError(say("--from reads a file; --for, --since and --history apply to this machine"))
    machine = probe(source)
    if source is not None:
        return in_file(case_of(machine, results=results_of(machine, source)))
    kept, results = _kept(history, machine, since_s=since_s, live_s=live_s)
    if kept:
        at_s = [tick.at_s for tick in kept]
        ticks, when = kept, say("from the history: {time}", time=show_seconds(max(at_s) - min(at_s)))
    else:
        ticks = _watched(live_s or _LIVE_S, progress)
        machine = replace(machine, node_power=node_power(here()) or machine.node_power)  # under this load
        when = say("watched for {time}", time=show_seconds(live_s or _LIVE_S))
    case = case_of(machine, results=_latest(results))
    diagnosis = judge(ticks, case)
    # the doctor's checks see what was watched
    return BottleneckReport(
        source=when,
        judgement=conclude(examine(watched(case, ticks)), diagnosis),
        ticks=ticks,
        node_power=None if kept else machine.node_power,
        drifts=_drifts(results),
        names=tuple((device.index, device.name or "") for device in machine.devices),
    )


def in_file(case: CheckInput) -> BottleneckReport:
    """What binds in the one moment that a file shows: cards at work, and nothing of what they wait for."""
    ticks = (tick_of(case),)
    diagnosis = judge(ticks, case)
    bounds = tuple(bound for bound in diagnosis.bounds if bound.cause.side == WORKING)
    return BottleneckReport(
        source=say("one snapshot: {file}", file=case.machine.origin),
        origin=case.machine.origin,
        judgement=conclude(examine(watched(case, ticks)), replace(diagnosis, bounds=bounds, unseen=())),
        ticks=ticks,
        names=tuple((device.index, device.name or "") for device in case.machine.devices),
        cut=case.machine.cut,
    )


def _kept(
    file: str | None, machine: Machine, *, since_s: float | None, live_s: float | None
) -> tuple[tuple[Tick, ...], tuple[Result, ...]]:
    """The moments and benchmarks that the history holds; nothing where there is none."""
    try:
        with open_history(None if file is None else Path(file), writes=False) as history:
            results = history.results(machine=machine)
            if live_s is not None:
                return (), results
            back_s = since_s if since_s is not None else _RECENT_S
            now_s = time.time()  # what a clock wrote that ran ahead is not of the last minutes
            ticks = tuple(history.ticks(now_s - back_s, now_s))
    except RigError:
        if file is not None or since_s is not None:
            raise
        return (), ()
    if since_s is not None and len(ticks) < _LEAST_TICKS:
        raise MissingError(
            say(
                "the history holds {count} samples of the last {time}; `rigright watch` records it, "
                "--for 30s samples now",
                count=len(ticks),
                time=show_seconds(since_s),
            )
        )
    return (ticks if len(ticks) >= _LEAST_TICKS else ()), results


def _watched(live_s: float, progress: Progress | None) -> tuple[Tick, ...]:
    """Look now; Ctrl-C ends it early and what was seen counts."""
    ticks: list[Tick] = []
    began_s = time.monotonic()
    with Sampler(here()) as sampler:
        sampler.tick(EVERY_S)
        try:
            while (gone_s := time.monotonic() - began_s) < live_s:
                time.sleep(min(EVERY_S, live_s - gone_s))
                ticks.append(sampler.tick())
                if progress is not None:
                    progress(min(live_s, time.monotonic() - began_s), live_s)
        except KeyboardInterrupt:
            if len(ticks) < _LEAST_TICKS:
                raise
    return tuple(ticks)


def _latest(results: Sequence[Result]) -> tuple[Result, ...]:
    """The last of each benchmark."""
    return tuple({(result.part, result.what, result.on): result for result in results}.values())


def _drifts(results: Sequence[Result]) -> tuple[Drift, ...]:
    """Benchmarks whose last figure is not what it was at first."""
    drifts = (
        Drift(latest=now, earliest=next(result for result in results if same_job(result, now)))
        for now in _latest(results)
    )
    return tuple(
        drift for drift in drifts if drift.earliest.value and abs(drift.ratio - 1) > _DRIFTED and drift.worse
    )
