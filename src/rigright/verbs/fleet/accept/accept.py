"""Runs an acceptance: nodes alone, under load, what was slow once more, then together; judged at the end."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.doctor.baseline import Baseline, load
from rigright.doctor.reference import wrong_values
from rigright.machine.bench.record import BenchWish, Meeting, Skipped
from rigright.machine.bench.table import NO_TORCH, pick
from rigright.machine.remote.parcel import Bench, RemoteRequest
from rigright.verbs.fleet.accept.accepted import Accepted, Met, wanted
from rigright.verbs.fleet.accept.folder import STAGES, Folder, Stage
from rigright.verbs.fleet.accept.judge import SoFar, judged, suspects
from rigright.verbs.fleet.hosts import by_number
from rigright.verbs.fleet.jobs import (
    PATIENCE_S,
    FleetWish,
    NodeJob,
    Runner,
    answers,
    run,
    runner_of,
)
from rigright.verbs.fleet.nodes import NodeReport, kinds, machines_of
from rigright.verbs.fleet.verb import BENCH_SLACK, examined, typed

_PARTS = (
    *("gemm", "device_memory", "memory_values", "transfer", "peer", "collectives"),
    *("disk", "checkpoint", "ram"),
)
_LOAD, _TOGETHER = "sustained", "nodes"
_BUDGET_S, _MEET_S = 300.0, 60.0
BURN_S = 600.0
_USED = 0.8  # of its time that a load lasts

_Asking = Callable[[Sequence[NodeJob]], Iterator[tuple[NodeJob, NodeReport]]]
_Progress = Callable[[Sentence, tuple[int, int]], None]  # what is done now, how far it is


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptWish:
    """Of which nodes, where it is kept, and how hard it is."""

    folder: str
    fleet: FleetWish = field(default_factory=FleetWish)
    burn_s: float = BURN_S
    disk: str | None = None  # a folder on the nodes
    parts: tuple[str, ...] = ()  # none: all of an acceptance


def accept(wish: AcceptWish, *, progress: _Progress | None = None) -> Accepted:
    """Ask the nodes of a fleet; what was asked before in the same folder is not asked again."""
    runner = runner_of(wish.fleet)
    if not runner.runs_jobs:
        raise AskError(say("acceptance queries nodes several times: use --hosts or --slurm"))
    result = accepted(partial(run, runner), partial(_names, runner), wish=wish, progress=progress)
    line = f"{typed('bench', runner)} --accept {shlex.quote(wish.folder)}"
    return replace(result, over=runner.name, asked=line)


def _names(runner: Runner, known: Iterable[str]) -> tuple[str, ...]:
    """Those of the folder and of the way; where there are none, whoever answers to a first short question."""
    names = (*known, *(report.node for report in runner.expected() if report.is_waited_for))
    if not names:
        names = tuple(report.node for report in answers(runner, RemoteRequest(patience_s=PATIENCE_S)))
    return tuple(dict.fromkeys(names))


def accepted(
    asking: _Asking,
    names: Callable[[Iterable[str]], tuple[str, ...]],
    *,
    wish: AcceptWish,
    progress: _Progress | None = None,
) -> Accepted:
    """The acceptance itself, however nodes are reached; Ctrl-C keeps and judges what came until then."""
    began = time.monotonic()
    parts = pick(wish.parts, BenchWish()) if wish.parts else (*_PARTS, _LOAD, _TOGETHER)
    settings = {
        "parts": list(parts),
        "burn_s": wish.burn_s,
        "disk": wish.disk,
        "python": wish.fleet.python,
    }
    run = _Run(
        asking=asking,
        folder=Folder(wish.folder, settings=settings),
        wish=wish,
        parts=parts,
        baseline=load(wish.fleet.baseline),
        progress=progress or (lambda *_: None),
    )
    broken_off = False
    try:
        run.known.names.update(dict.fromkeys(names(run.begun())))
        run.all_stages()
    except KeyboardInterrupt:
        if not run.known.reports:
            raise
        broken_off = True
    verdict = judged(run.known, broken_off=broken_off)
    return replace(verdict, folder=wish.folder, seconds=time.monotonic() - began)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One acceptance on its way."""

    asking: _Asking
    folder: Folder
    wish: AcceptWish
    parts: tuple[str, ...]
    baseline: Baseline | None
    progress: _Progress
    known: SoFar = field(default_factory=SoFar)

    def begun(self) -> tuple[str, ...]:
        """Nodes of the folder; what they said is taken up."""
        for stage in STAGES:
            for report in self.folder.reports(stage):
                self._take(stage, report)
        self.known.met.extend(self.folder.met())
        return tuple(self.known.reports)

    def all_stages(self) -> None:
        """Whatever is not known yet."""
        known = self.known
        alone = tuple(part for part in self.parts if part not in {_LOAD, _TOGETHER})
        each = dict.fromkeys(known.names, alone)
        self._stage("answers", each, shown=say("each node alone"), budget_s=_BUDGET_S)
        heard = sorted(machines_of(known.reports), key=by_number)
        if _LOAD in self.parts:
            loaded = dict.fromkeys(heard, (_LOAD,))
            self._stage("load", loaded, shown=say("under load"), budget_s=self.wish.burn_s / _USED)
        self._again()
        if _TOGETHER in self.parts:
            self._together(heard)

    def _stage(
        self, stage: Stage, parts: Mapping[str, tuple[str, ...]], *, shown: Sentence, budget_s: float
    ) -> None:
        """Ask the nodes that have not answered yet; what they say is kept before it is judged."""
        known = self.known
        done = {
            "answers": set(machines_of(known.reports)),
            "load": {report.node for report in self.folder.reports("load") if report.machine is not None},
            "again": set[str](),
        }[stage]
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, wanted_parts in parts.items():
            if name not in done:
                groups.setdefault(wanted_parts, []).append(name)
        jobs = [
            NodeJob(nodes=tuple(nodes), request=self._request(texts, budget_s))
            for texts, nodes in groups.items()
        ]
        count = sum(len(job.nodes) for job in jobs)
        if not jobs:
            return
        self.progress(shown, (0, count))
        for number, (_, report) in enumerate(self.asking(jobs), 1):
            report = self._with_earlier(report) if stage == "again" else report  # noqa: PLW2901
            if report.machine is not None:
                report.save(self.folder.path / stage)
            self._take(stage, report)
            self.progress(shown, (number, count))

    def _again(self) -> None:
        """What was slow is measured once more: that moves the median, so that others may stand out then."""
        known, asked = self.known, set[tuple[str, str]]()
        while True:
            slow: dict[str, tuple[str, ...]] = {}
            for suspect in suspects(known.reports, known.again):
                place = (suspect.node, suspect.result.part)
                if not known.is_twice(*place) and place not in asked:
                    slow[suspect.node] = (*slow.get(suspect.node, ()), suspect.result.part)
                    asked.add(place)
            if not slow:
                return
            loaded = self.wish.burn_s / _USED if any(_LOAD in parts for parts in slow.values()) else 0.0
            shown = say("slow parts again")
            self._stage("again", slow, shown=shown, budget_s=_BUDGET_S + loaded)

    def _request(
        self, parts: tuple[str, ...], budget_s: float, *, meeting: Meeting | None = None
    ) -> RemoteRequest:
        wish = BenchWish(budget_s=budget_s, python=self.wish.fleet.python, disk=self.wish.disk)
        bench = Bench(wish=wish, parts=parts) if parts else None
        return RemoteRequest(patience_s=PATIENCE_S + BENCH_SLACK * budget_s, bench=bench, meeting=meeting)

    def _with_earlier(self, report: NodeReport) -> NodeReport:
        """What was measured again before stays beside it."""
        before = self.known.again.get(report.node)
        if before is None or report.machine is None:
            return report
        results, skipped = (*before.results, *report.results), (*before.skipped, *report.skipped)
        return replace(report, results=results, skipped=skipped)

    def _take(self, stage: Stage, report: NodeReport) -> None:
        """A node's words among what is known."""
        known, name = self.known, report.node
        if stage == "answers":
            known.reports[name] = examined(report, baseline=self.baseline)
        elif stage == "again":
            if report.machine is not None:
                known.again[name] = report
        elif name in known.reports:
            first, skipped = known.reports[name], report.skipped
            if report.trouble is not None:
                skipped = (Skipped(part=_LOAD, why=report.trouble),)
            # the newer reading of the machine is one after heat
            both = replace(
                first,
                machine=report.machine or first.machine,
                results=(*first.results, *report.results),
                skipped=(*first.skipped, *skipped),
            )
            known.reports[name] = examined(both, baseline=self.baseline)

    def _together(self, heard: Sequence[str]) -> None:
        """Pairs, trials and halves, each kind of node among its own."""
        known = self.known
        kind = kinds(machines_of({name: known.reports[name] for name in heard}))
        groups: dict[str, list[str]] = {}
        for name in heard:
            if not any(skipped.why == NO_TORCH for skipped in known.reports[name].skipped):
                groups.setdefault(kind[name], []).append(name)
        low = frozenset(suspect.node for suspect in suspects(known.reports, known.again))
        while True:
            ahead: list[Met] = []
            for nodes in groups.values():
                met = [limit for limit in known.met if limit.nodes[0] in nodes]
                ahead += wanted(nodes, met, fit=frozenset(nodes) - low) if len(nodes) > 1 else ()
            if not ahead:
                return
            self._meet(ahead)

    def _meet(self, wishes: Sequence[Met]) -> None:
        """Hold these meetings at once."""
        stages = {
            "pairs": say("in pairs"),
            "trial": say("slow nodes paired with fast ones"),
            "halves": say("all nodes together, then in halves"),
        }
        shown = stages[wishes[0].stage]
        jobs: dict[NodeJob, Met] = {}
        for wish in wishes:
            request = self._request((_TOGETHER,), _MEET_S, meeting=Meeting(members=wish.nodes))
            jobs[NodeJob(nodes=wish.nodes, request=request)] = wish
        heard: dict[NodeJob, dict[str, NodeReport]] = {job: {} for job in jobs}
        self.progress(shown, (0, len(jobs)))
        for job, report in self.asking(tuple(jobs)):
            if job not in heard:
                continue
            heard[job][report.node] = report
            if heard[job].keys() >= set(job.nodes):
                limit = _met(jobs[job], tuple(heard.pop(job).values()))
                self.folder.keep_met(limit)
                self.known.met.append(limit)
                self.progress(shown, (len(jobs) - len(heard), len(jobs)))


def _met(wish: Met, heard: Sequence[NodeReport]) -> Met:
    """What came of a meeting: the first node's rate, or the first reason of any."""
    figures = [result for node in heard for result in node.results if result.part == _TOGETHER]
    skips = [
        (node.node, skipped.why) for node in heard for skipped in node.skipped if skipped.part == _TOGETHER
    ]
    skips += [(node.node, node.trouble) for node in heard if node.trouble is not None]
    unable = tuple(node for node, why in skips if why == NO_TORCH)
    if not figures:
        whys = sorted(skips, key=lambda pair: pair[1] != NO_TORCH)
        why = whys[0][1] if whys else say("no result")
        return replace(wish, why=why, unable=unable)
    return replace(wish, value=figures[0].value, wrong=int(max(map(wrong_values, figures))))
