"""Runs an acceptance: nodes alone, under load, what was slow once more, then together; judged at the end."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from rigright.base import shelf
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.doctor.baseline import Baseline, load
from rigright.doctor.examine import case_of, examine
from rigright.machine.bench.record import BenchWish, Meeting, Skipped
from rigright.machine.bench.table import NO_TORCH, pick
from rigright.machine.remote.parcel import Bench, RemoteRequest
from rigright.machine.stored import plain
from rigright.verbs.fleet.accept.accepted import Accepted, Met
from rigright.verbs.fleet.accept.folder import Folder, Stage
from rigright.verbs.fleet.accept.judge import SoFar, judged, suspects
from rigright.verbs.fleet.accept.meetings import wanted
from rigright.verbs.fleet.compare import kinds
from rigright.verbs.fleet.hosts import by_number
from rigright.verbs.fleet.nodes import NodeReport
from rigright.verbs.fleet.outcome import PATIENCE_S, Errand, NodeOutcome, Remote
from rigright.verbs.fleet.verb import BENCH_SLACK, RUNNERS, FleetWish, node_report, typed, way_of

PARTS = (
    *("gemm", "device_memory", "memory_values", "transfer", "peer", "collectives"),
    *("disk", "checkpoint", "ram"),
)
LOAD, TOGETHER = "sustained", "nodes"
BUDGET_S, MEET_S = 300.0, 60.0
BURN_S = 600.0
USED = 0.8  # of its time that a load lasts

Asking = Callable[[Sequence[Errand]], Iterator[tuple[Errand, NodeOutcome]]]
Progress = Callable[[Sentence, tuple[int, int]], None]  # what is done now, how far it is


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptWish:
    """Where it is kept, and how hard it is."""

    folder: str
    burn_s: float = BURN_S
    disk: str | None = None  # a folder on the nodes
    parts: tuple[str, ...] = ()  # none: all of an acceptance
    baseline: str | None = None


def accept(wish: FleetWish, asked: AcceptWish, *, progress: Progress | None = None) -> Accepted:
    """Ask the nodes of a fleet; what was asked before in the same folder is not asked again."""
    runner = shelf.take(RUNNERS, wish.over, bears="ask")
    if runner is None:
        raise AskError(say("acceptance queries nodes several times: use --hosts or --slurm"))
    way = way_of(wish, RemoteRequest(patience_s=PATIENCE_S))
    name = shelf.take(RUNNERS, wish.over, bears="NAME")
    names = partial(_names, wish.over, way)
    result = accepted(partial(runner, way), names, wish=asked, python=wish.python, progress=progress)
    return replace(result, over=name, asked=f"{typed('bench', wish)} --accept {shlex.quote(asked.folder)}")


def _names(over: str, way: Remote, *, known: Iterable[str]) -> tuple[str, ...]:
    """The nodes: those of the way, those of the folder, else whoever answers to a first short question."""
    named: tuple[str, ...] = shelf.take(RUNNERS, over, bears="nodes")(way)
    if not named and not known:
        named = tuple(dict.fromkeys(value.node for value in shelf.take(RUNNERS, over, bears="run")(way)))
    return tuple(dict.fromkeys((*known, *named)))


def accepted(
    asking: Asking,
    names: Callable[..., tuple[str, ...]],
    *,
    wish: AcceptWish,
    python: str | None = None,
    progress: Progress | None = None,
) -> Accepted:
    """The acceptance itself, however nodes are reached; Ctrl-C keeps and judges what came until then."""
    began = time.monotonic()
    parts = pick(wish.parts, BenchWish()) if wish.parts else (*PARTS, LOAD, TOGETHER)
    settings = {"parts": list(parts), "burn_s": wish.burn_s, "disk": wish.disk, "python": python}
    run = _Run(
        asking=asking,
        folder=Folder(wish.folder, settings=settings),
        wish=wish,
        parts=parts,
        python=python,
        baseline=load(wish.baseline),
        progress=progress or (lambda *_: None),
    )
    broken_off = False
    try:
        run.known.names.update(dict.fromkeys(names(known=run.begun())))
        run.all_stages()
    except KeyboardInterrupt:
        if not run.known.reports:
            raise
        broken_off = True
    known = run.known
    verdicts = judged(known, whole=not broken_off)
    return Accepted(
        over="",
        asked="",
        folder=wish.folder,
        nodes=verdicts.nodes,
        meetings=tuple(known.met),
        between=verdicts.between,
        everywhere=verdicts.everywhere,
        differs=verdicts.differs,
        broken_off=broken_off,
        seconds=time.monotonic() - began,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One acceptance on its way."""

    asking: Asking
    folder: Folder
    wish: AcceptWish
    parts: tuple[str, ...]
    python: str | None
    baseline: Baseline | None
    progress: Progress
    known: SoFar = field(default_factory=SoFar)

    def begun(self) -> tuple[str, ...]:
        """Nodes of the folder; what they said is taken up."""
        for name, fields in self.folder.answers("answers").items():
            self._take("answers", NodeOutcome(node=name, reply=fields))
        for stage in ("load", "again"):
            for name, fields in self.folder.answers(stage).items():
                self._take(stage, NodeOutcome(node=name, reply=fields))
        self.known.met.extend(self.folder.met())
        return tuple(self.known.reports)

    def all_stages(self) -> None:
        """Whatever is not known yet."""
        known = self.known
        alone = tuple(part for part in self.parts if part not in {LOAD, TOGETHER})
        each = dict.fromkeys(known.names, alone)
        self._stage("answers", each, shown=say("each node alone"), budget_s=BUDGET_S)
        heard = sorted(
            (name for name, node in known.reports.items() if node.machine is not None), key=by_number
        )
        if LOAD in self.parts:
            loaded = dict.fromkeys(heard, (LOAD,))
            self._stage("load", loaded, shown=say("under load"), budget_s=self.wish.burn_s / USED)
        self._again()
        if TOGETHER in self.parts:
            self._together(heard)

    def _stage(
        self, stage: Stage, parts: Mapping[str, tuple[str, ...]], *, shown: Sentence, budget_s: float
    ) -> None:
        """Ask the nodes that have not answered yet; what they say is kept before it is judged."""
        known = self.known
        done = {
            "answers": {name for name, node in known.reports.items() if node.machine is not None},
            "load": set(self.folder.answers("load")),
            "again": set[str](),
        }[stage]
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, wanted_parts in parts.items():
            if name not in done:
                groups.setdefault(wanted_parts, []).append(name)
        jobs = [Errand(nodes=tuple(nodes), ask=self._ask(texts, budget_s)) for texts, nodes in groups.items()]
        count = sum(len(job.nodes) for job in jobs)
        if not jobs:
            return
        self.progress(shown, (0, count))
        for number, (_, outcome) in enumerate(self.asking(jobs), 1):
            outcome = self._with_earlier(outcome) if stage == "again" else outcome  # noqa: PLW2901
            if outcome.reply is not None and "problem" not in outcome.reply:
                self.folder.keep(stage, outcome)
            self._take(stage, outcome)
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
            loaded = self.wish.burn_s / USED if any(LOAD in parts for parts in slow.values()) else 0.0
            shown = say("slow parts again")
            self._stage("again", slow, shown=shown, budget_s=BUDGET_S + loaded)

    def _ask(
        self, parts: tuple[str, ...], budget_s: float, *, meeting: Meeting | None = None
    ) -> RemoteRequest:
        wish = BenchWish(budget_s=budget_s, python=self.python, disk=self.wish.disk)
        bench = Bench(wish=wish, parts=parts) if parts else None
        return RemoteRequest(patience_s=PATIENCE_S + BENCH_SLACK * budget_s, bench=bench, meeting=meeting)

    def _with_earlier(self, outcome: NodeOutcome) -> NodeOutcome:
        """What was measured again before stays beside it."""
        before = self.known.again.get(outcome.node)
        if before is None or outcome.reply is None:
            return outcome
        groups = {
            name: [*plain(getattr(before, name)), *outcome.reply.get(name, ())]
            for name in ("results", "skipped")
        }
        return replace(outcome, reply={**outcome.reply, **groups})

    def _take(self, stage: Stage, outcome: NodeOutcome) -> None:
        """A node's words among what is known."""
        known = self.known
        node = node_report(outcome)
        if stage == "answers":
            known.reports[outcome.node] = self._examined(node)
        elif stage == "again":
            if node.trouble is None:
                known.again[outcome.node] = node
        elif outcome.node in known.reports:
            first = known.reports[outcome.node]
            skipped = node.skipped or (
                () if node.trouble is None else (Skipped(part=LOAD, why=node.trouble),)
            )
            # the newer reading of the machine is one after heat
            both = replace(
                first,
                machine=node.machine or first.machine,
                results=(*first.results, *node.results),
                skipped=(*first.skipped, *skipped),
            )
            known.reports[outcome.node] = self._examined(both)

    def _examined(self, node: NodeReport) -> NodeReport:
        if node.machine is None:
            return node
        case = case_of(node.machine, results=node.results, baseline=self.baseline)
        return replace(node, examined=examine(case))

    def _together(self, heard: Sequence[str]) -> None:
        """Pairs, trials and halves, each kind of node among its own."""
        known = self.known
        kind = kinds(
            {name: node.machine for name in heard if (node := known.reports[name]).machine is not None}
        )
        able = [
            name
            for name in heard
            if not any(skipped.why == NO_TORCH for skipped in known.reports[name].skipped)
        ]
        groups: dict[str, list[str]] = {}
        for name in able:
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
        of_job = {
            Errand(
                nodes=wish.nodes, ask=self._ask((TOGETHER,), MEET_S, meeting=Meeting(members=wish.nodes))
            ): wish
            for wish in wishes
        }
        waiting = {job: dict.fromkeys(job.nodes) for job in of_job}
        heard: dict[Errand, list[NodeReport]] = {job: [] for job in of_job}
        self.progress(shown, (0, len(of_job)))
        done = 0
        for job, outcome in self.asking(tuple(of_job)):
            heard[job].append(node_report(outcome))
            waiting[job].pop(outcome.node, None)
            if not waiting[job]:
                limit = _met(of_job[job], heard[job])
                self.folder.keep_met(limit)
                self.known.met.append(limit)
                done += 1
                self.progress(shown, (done, len(of_job)))


def _met(wish: Met, heard: Sequence[NodeReport]) -> Met:
    """What came of a meeting: the first node's rate, or the first reason of any."""
    figures = [result for node in heard for result in node.results if result.part == TOGETHER]
    skips = [
        (node.node, skipped.why) for node in heard for skipped in node.skipped if skipped.part == TOGETHER
    ]
    skips += [(node.node, node.trouble) for node in heard if node.trouble is not None]
    unable = tuple(node for node, why in skips if why == NO_TORCH)
    if not figures:
        whys = sorted(skips, key=lambda pair: pair[1] != NO_TORCH)
        why = whys[0][1] if whys else say("no result")
        return replace(wish, why=why, unable=unable)
    wrong = 0.0
    with suppress(ValueError):
        wrong = max(float(dict(result.settings).get("wrong", "0")) for result in figures)
    return replace(wish, value=figures[0].value, wrong=int(wrong))
