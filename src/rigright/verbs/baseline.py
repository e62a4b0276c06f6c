"""`baseline`: what a node type should be like, taken from a good node, and other nodes held against it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from rigright.base.errors import AskError
from rigright.base.files import save_text
from rigright.base.words import say
from rigright.doctor.baseline import Baseline, baseline_of, read_baseline, written
from rigright.doctor.examine import Examined, case_of, examine
from rigright.machine.bench.record import Result
from rigright.machine.record import Machine
from rigright.verbs.bench.record import read_results
from rigright.verbs.last_results import results_of
from rigright.verbs.probe import probe

ONLY = ("baseline",)  # the group of checks


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedBaseline:
    """A baseline that was written."""

    machine: Machine
    baseline: Baseline


def baseline(
    *,
    save: str | None = None,
    check: str | None = None,
    from_file: str | None = None,
    bench: str | None = None,
) -> SavedBaseline | tuple[Examined, Baseline]:
    """Write what a good node is like to the file `save`, or hold a node against the file `check`."""
    if (save is None) == (check is None):
        raise AskError(
            say("baseline needs --save FILE or --check FILE"),
            hint=say("for example {example}", example="rigright baseline --save h100.toml"),
        )
    if save is not None:
        return _save_from(save, from_file=from_file, bench=bench)
    return _check_against(str(check), from_file=from_file, bench=bench)


def _save_from(file: str, *, from_file: str | None = None, bench: str | None = None) -> SavedBaseline:
    """Take it from a good node: this one, or the one a file tells of."""
    machine, results = _node(from_file, bench)
    baseline = baseline_of(machine, results, file=file)
    if not baseline.expect:
        raise AskError(say("nothing readable on this node for a baseline"))
    node = machine.system.host or (machine.origin if machine.origin != "live" else "this node")
    save_text(file, written(baseline, node=node, date=time.strftime("%Y-%m-%d")))
    return SavedBaseline(machine=machine, baseline=baseline)


def _check_against(
    file: str, *, from_file: str | None = None, bench: str | None = None
) -> tuple[Examined, Baseline]:
    """Hold a node against it."""
    start = time.perf_counter()
    expected = read_baseline(file)
    machine, results = _node(from_file, bench)
    case = case_of(machine, results=results, baseline=expected)
    return replace(examine(case, ONLY), seconds=time.perf_counter() - start), expected


def _node(from_file: str | None, bench: str | None) -> tuple[Machine, tuple[Result, ...]]:
    """A machine and its figures: those of a file of `bench --save`, else the last of its history."""
    bench_file = None if bench is None else read_results(bench)
    if from_file is None and bench_file is not None and bench_file.machine is not None:
        return bench_file.machine, bench_file.results
    machine = probe(from_file)
    if bench_file is not None:
        return machine, bench_file.results
    return machine, results_of(machine, from_file)
