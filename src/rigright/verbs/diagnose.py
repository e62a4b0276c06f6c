"""What binds this machine: watched now, or over a time that its history holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rigright.base.errors import AskError, MissingError, RigError
from rigright.base.units import show_seconds
from rigright.base.words import say
from rigright.doctor.binding.judge import judge
from rigright.doctor.binding.judgement import conclude, tick_of, watched
from rigright.doctor.binding.record import WORKING
from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import CheckInput
from rigright.machine.bench.record import Result, same_job
from rigright.machine.history.store import open_history
from rigright.machine.parts.node_power import node_power
from rigright.machine.record import Machine
from rigright.machine.sampling.sampler import Sampler
from rigright.machine.tick import Tick
from rigright.machine.world import here
from rigright.verbs.diagnosed import BottleneckReport, Drift
from rigright.verbs.last_results import results_of
from rigright.verbs.probe import probe

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
