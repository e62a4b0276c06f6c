"""Asks every node the same, keeps each answer as it comes, and looks at all of them together."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from rigright.base import shelf
from rigright.base.errors import AskError, DataError
from rigright.base.words import say
from rigright.doctor.baseline import Baseline, load
from rigright.doctor.binding.judgement import JudgedCause, conclude
from rigright.doctor.examine import case_of, chosen, examine
from rigright.doctor.record import Wanted
from rigright.machine.bench.record import BenchWish, Result, Skipped
from rigright.machine.bench.session import BUDGET_S, QUICK_BUDGET_S
from rigright.machine.possible import possible
from rigright.machine.record import Machine, Unseen
from rigright.machine.remote.parcel import Bench, RemoteRequest
from rigright.machine.stored import restored
from rigright.verbs.doctor import wanted_of
from rigright.verbs.fleet.compare import differences, kinds, spread_of
from rigright.verbs.fleet.hosts import file_of
from rigright.verbs.fleet.nodes import Fleet, NodeReport
from rigright.verbs.fleet.outcome import PARALLEL, PATIENCE_S, NodeOutcome, Remote
from rigright.verbs.fleet.troubles import BROKEN_OFF

RUNNERS = "rigright.verbs.fleet.runners"
BENCH_SLACK = 1.5  # a part that was begun may take longer than its share
R = TypeVar("R")
MOST_FIGURES = 20_000  # of one node
HELD = ("bench", "baseline")  # checks of what was measured
What = Literal["probe", "doctor", "bench"]
Progress = Callable[[int, int, int], None]  # nodes that answered, nodes that will not, nodes expected


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWish:
    """Which nodes, how they are reached, and what they are asked."""

    over: str = "ssh"  # a file of runners/
    where: str = ""
    only: tuple[str, ...] = ()  # checks of doctor
    plan: str | None = None  # that doctor holds the nodes against
    baseline: str | None = None  # a file of what nodes of this type should be like
    bench: Bench | None = None  # None: the quick run of all parts
    patience_s: float | None = None
    parallel: int = PARALLEL
    python: str | None = None
    as_root: bool = False
    options: tuple[str, ...] = ()
    save: str | None = None


def fleet(what: What, *, wish: FleetWish, progress: Progress | None = None) -> Fleet:
    """Ask all nodes; Ctrl-C keeps what came until then."""
    began = time.monotonic()
    chosen(wish.only)  # a wrong name is told before any node is asked
    if what == "bench" and wish.over == "kubernetes":
        raise AskError(
            say(
                "rigright pods can only probe; bench the nodes over ssh, or collect `bench --save` "
                "files in a folder"
            )
        )
    wanted = None if wish.plan is None else wanted_of(wish.plan)
    read = partial(_node, what=what, only=wish.only, wanted=wanted, baseline=load(wish.baseline))
    if wish.save is not None:
        try:
            Path(wish.save).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = say("cannot write {file}: {why}", file=wish.save, why=error.strerror or error)
            raise AskError(why) from None
    nodes: dict[str, NodeReport] = {}
    broken_off = False
    try:
        for outcome in _asked(what, wish):
            nodes[outcome.node] = read(outcome)
            if wish.save is not None and outcome.reply is not None and nodes[outcome.node].trouble is None:
                _save(Path(wish.save), outcome)
            if progress is not None:
                waiting = sum(node.is_waited_for for node in nodes.values())
                silent = sum(node.trouble is not None for node in nodes.values())
                progress(len(nodes) - waiting - silent, silent, len(nodes))
    except KeyboardInterrupt:
        if all(node.is_waited_for for node in nodes.values()):
            raise
        broken_off = True
    nodes = {
        name: node if not node.is_waited_for else NodeReport(node=node.node, trouble=BROKEN_OFF)
        for name, node in nodes.items()
    }
    result = _together(what, nodes)
    seconds = time.monotonic() - began
    name = shelf.take(RUNNERS, wish.over, bears="NAME")
    return Fleet(
        over=name,
        asked=typed(what, wish),
        broken_off=broken_off,
        saved=wish.save,
        seconds=seconds,
        **result,
    )


def _asked(what: What, wish: FleetWish) -> Iterator[NodeOutcome]:
    bench = (wish.bench or bench_of()) if what == "bench" else None
    patience_s = wish.patience_s or (PATIENCE_S + (0.0 if bench is None else _bench_s(bench)))
    way = way_of(wish, RemoteRequest(patience_s=patience_s, bench=bench))
    outcomes: Iterator[NodeOutcome] = shelf.take(RUNNERS, wish.over, bears="run")(way)
    return outcomes


def way_of(wish: FleetWish, ask: RemoteRequest) -> Remote:
    """Where the nodes are, how they are reached, and what they are asked."""
    return Remote(
        ask=ask,
        where=wish.where,
        parallel=wish.parallel,
        python=wish.python,
        as_root=wish.as_root,
        options=wish.options,
    )


def typed(what: What, wish: FleetWish) -> str:
    """The question as it is typed."""
    flag = {"ssh": "hosts", "folder": "from"}.get(wish.over, wish.over)
    return f"rigright fleet {what} --{flag}" + (f"={shlex.quote(wish.where)}" if wish.where else "")


def bench_of(parts: tuple[str, ...] = (), *, full: bool = False, python: str | None = None) -> Bench:
    """What nodes are asked to measure."""
    return Bench(wish=BenchWish(quick=not full, python=python), parts=parts)


def _bench_s(bench: Bench) -> float:
    wish = bench.wish
    return BENCH_SLACK * (wish.budget_s or (QUICK_BUDGET_S if wish.quick else BUDGET_S))


def _node(
    outcome: NodeOutcome,
    *,
    what: What,
    only: tuple[str, ...],
    wanted: Wanted | None,
    baseline: Baseline | None,
) -> NodeReport:
    """One node's words as records, examined as far as it was asked."""
    node = node_report(outcome)
    if node.machine is None or what == "probe":
        return node
    about = only if what == "doctor" else HELD
    case = case_of(node.machine, results=node.results, wanted=wanted, baseline=baseline)
    return replace(node, examined=examine(case, about))


def node_report(outcome: NodeOutcome) -> NodeReport:
    """One node's words as records; what cannot be read is told of that node alone."""
    fields = outcome.reply
    if fields is None:  # with no trouble either it is only expected
        return NodeReport(node=outcome.node, trouble=outcome.trouble)
    try:
        if "problem" in fields:
            told_of = {"what": "node", "why": fields["problem"]}
            return NodeReport(node=outcome.node, trouble=restored(Unseen, told_of, where=outcome.node).why)
        machine = possible(restored(Machine, fields.get("machine"), where=outcome.node))
        results = _listed(Result, fields, where=outcome.node)
        skipped = _listed(Skipped, fields, where=outcome.node)
    except DataError as error:
        return NodeReport(node=outcome.node, trouble=error.whole)
    seconds = fields.get("seconds")
    return NodeReport(
        node=outcome.node,
        machine=machine,
        results=results,
        skipped=skipped,
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
    )


def _listed(kind: type[R], fields: dict[str, Any], *, where: str) -> tuple[R, ...]:
    """What was measured there, or was not."""
    listed = fields.get("results" if kind is Result else "skipped")
    if not isinstance(listed, list) or len(listed) > MOST_FIGURES:
        return ()
    return tuple(restored(kind, value, where=where) for value in listed)


def _together(what: What, nodes: dict[str, NodeReport]) -> dict[str, Any]:
    """What follows from all nodes: the odd ones out and the slow ones."""
    machines = {node: item.machine for node, item in nodes.items() if item.machine is not None}
    kind = kinds(machines)
    spreads, slow = spread_of(nodes.values(), kind)
    whys = {name: _why(nodes[name]) for name in {straggler.node for straggler in slow}}
    stragglers = tuple(replace(straggler, why=whys[straggler.node]) for straggler in slow)
    return {
        "what": what,
        "nodes": tuple(nodes.values()),
        "differs": differences(machines),
        "spreads": spreads,
        "stragglers": stragglers,
    }


def _why(node: NodeReport) -> JudgedCause | None:
    """What slows a node down, by all of its doctor's checks: not the slow figure itself."""
    if node.machine is None:
        return None
    bad = conclude(examine(case_of(node.machine))).bad
    return next(
        (cause for cause in bad if cause.row.holds), next((cause for cause in bad if cause.row.binds), None)
    )


def _save(folder: Path, outcome: NodeOutcome) -> None:
    """A node's words as `probe --from` reads them too; a full disk loses the copy, not the answer."""
    fields = dict(outcome.reply or {})
    file = folder / file_of(outcome.node)
    with suppress(OSError):
        part = file.with_name(f".{file.stem}.part")
        part.write_text(json.dumps({**fields, **fields.pop("machine")}), encoding="utf-8")
        part.replace(file)
