"""Asks every node the same, keeps each answer as it comes, and looks at all of them together."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rigright.base.errors import AskError, RigError
from rigright.base.files import unwritten
from rigright.base.words import say
from rigright.doctor.baseline import Baseline, load
from rigright.doctor.binding.judgement import JudgedCause, conclude
from rigright.doctor.examine import case_of, chosen, examine
from rigright.doctor.record import Wanted
from rigright.machine.bench.record import BenchWish
from rigright.machine.bench.session import BUDGET_S, QUICK_BUDGET_S
from rigright.machine.remote.parcel import Bench, RemoteRequest
from rigright.verbs.doctor import wanted_of
from rigright.verbs.fleet.jobs import PATIENCE_S, FleetWish, Runner, answers, runner_of
from rigright.verbs.fleet.nodes import (
    Fleet,
    NodeReport,
    Straggler,
    differences,
    kinds,
    machines_of,
    spread_of,
)
from rigright.verbs.fleet.troubles import BROKEN_OFF

BENCH_SLACK = 1.5  # a part that was begun may take longer than its share
_MEASURED = ("bench", "baseline")  # checks of what was measured
What = Literal["probe", "doctor", "bench"]
Progress = Callable[[int, int, int], None]  # nodes that answered, nodes that will not, nodes expected


def fleet(what: What, *, wish: FleetWish, progress: Progress | None = None) -> Fleet:
    """Ask all nodes; Ctrl-C keeps what came until then."""
    began = time.monotonic()
    chosen(wish.only)  # a wrong name is refused before any node is asked
    request = _request(what, wish)
    wanted = None if wish.plan is None else wanted_of(wish.plan)
    baseline = load(wish.baseline)
    folder = None if wish.save is None else _made(wish.save)
    runner = runner_of(wish)
    nodes: dict[str, NodeReport] = {}
    broken_off = False
    try:
        for report in answers(runner, request):
            node = report
            if what != "probe":
                about = wish.only if what == "doctor" else _MEASURED
                node = examined(report, about, wanted=wanted, baseline=baseline)
            nodes[node.node] = node
            if folder is not None and node.machine is not None:
                with suppress(RigError):  # a full disk loses the copy, not the answer
                    node.save(folder)
            if progress is not None:
                waiting = sum(node.is_waited_for for node in nodes.values())
                silent = sum(node.trouble is not None for node in nodes.values())
                progress(len(nodes) - waiting - silent, silent, len(nodes))
    except KeyboardInterrupt:
        if all(node.is_waited_for for node in nodes.values()):
            raise
        broken_off = True
    for name, node in nodes.items():
        if node.is_waited_for:
            nodes[name] = replace(node, trouble=BROKEN_OFF)
    kind = kinds(machines_of(nodes))
    spreads, slow = spread_of(nodes.values(), kind)
    return Fleet(
        what=what,
        over=runner.name,
        asked=typed(what, runner),
        nodes=tuple(nodes.values()),
        differs=differences(machines_of(nodes)),
        spreads=spreads,
        stragglers=_explained(slow, nodes),
        broken_off=broken_off,
        saved=wish.save,
        seconds=time.monotonic() - began,
    )


def _request(what: What, wish: FleetWish) -> RemoteRequest:
    """What every node is asked."""
    if what != "bench":
        return RemoteRequest(patience_s=wish.patience_s or PATIENCE_S)
    if wish.over == "kubernetes":
        raise AskError(
            say(
                "rigright pods can only probe; bench the nodes over ssh, or collect `bench --save` "
                "files in a folder"
            )
        )
    bench = wish.bench or bench_of()
    budget_s = bench.wish.budget_s or (QUICK_BUDGET_S if bench.wish.quick else BUDGET_S)
    return RemoteRequest(patience_s=wish.patience_s or PATIENCE_S + BENCH_SLACK * budget_s, bench=bench)


def _made(save: str) -> Path:
    folder = Path(save)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten(folder, error) from None
    return folder


def typed(what: What, runner: Runner) -> str:
    """The question as it is typed."""
    where = runner.wish.where
    return f"rigright fleet {what} --{runner.flag}" + (f"={shlex.quote(where)}" if where else "")


def bench_of(parts: tuple[str, ...] = (), *, full: bool = False, python: str | None = None) -> Bench:
    """What nodes are asked to measure."""
    return Bench(wish=BenchWish(quick=not full, python=python), parts=parts)


def examined(
    node: NodeReport,
    about: tuple[str, ...] = (),
    *,
    baseline: Baseline | None,
    wanted: Wanted | None = None,
) -> NodeReport:
    """The node with what these checks, else all of them, find in its words."""
    if node.machine is None:
        return node
    case = case_of(node.machine, results=node.results, wanted=wanted, baseline=baseline)
    return replace(node, examined=examine(case, about))


def _explained(slow: Iterable[Straggler], nodes: Mapping[str, NodeReport]) -> tuple[Straggler, ...]:
    """Stragglers with what slows each node down."""
    whys = {name: _why(nodes[name]) for name in {straggler.node for straggler in slow}}
    return tuple(replace(straggler, why=whys[straggler.node]) for straggler in slow)


def _why(node: NodeReport) -> JudgedCause | None:
    """What slows a node down, by all of its doctor's checks: not the slow figure itself."""
    if node.machine is None:
        return None
    bad = conclude(examine(case_of(node.machine))).bad
    return next(
        (cause for cause in bad if cause.row.holds), next((cause for cause in bad if cause.row.binds), None)
    )
