"""Measures the parts one after another, holds each figure against what it should be, and keeps them all."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rigright.base.errors import AskError, RigError
from rigright.base.files import check_place
from rigright.base.units import show_seconds, show_short
from rigright.base.words import Sentence, say
from rigright.doctor.baseline import Baseline, load
from rigright.doctor.examine import Examined, case_of, examine
from rigright.doctor.reference import BaselineFigure, compare_all
from rigright.facts.chips import Chip
from rigright.facts.find import find_chip
from rigright.machine.bench.parts.endpoint import base_of
from rigright.machine.bench.parts.transformer import FORWARD_FLOPS, FORWARD_LAUNCHES
from rigright.machine.bench.record import BenchWish, Result, SentLoad, Skipped
from rigright.machine.bench.session import measured
from rigright.machine.bench.table import PARTS, pick
from rigright.machine.bench.tool_logs import TITLES
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.world import here
from rigright.verbs.bench.record import BenchPart, BenchRun, PartList, read_results, save_results, write_rows

if TYPE_CHECKING:
    from rigright.verbs.runs.planned import PlannedRun

__all__ = ["BenchWish", "Keep", "bench"]

Progress = Callable[[Sentence, tuple[int, int]], None]
# figures of the endpoint by the names that a plan has for them
PLANNED = {"first token": "ttft_s", "next token": "tpot_s", "tokens": "output_tok_per_s"}
_USUAL_CARD = "rtx 4090"  # where the machine has none
# share of the stated FP32 rate (data/bench_expected.csv), and seconds to start a kernel: estimates
_BEST, _TYPICAL, _WORST = (1.0, 4e-6), (0.7, 8e-6), (0.35, 20e-6)
_KEPT_PATIENCE_S = 30.0  # for another writer of the history: what took minutes is worth the wait


class Stop:
    """Breaking off, by Ctrl-C or the polite end that a scheduler sends: no figure is lost.

    The first signal interrupts, unless figures are being kept; those after it wait until all is done.
    """

    def __init__(self) -> None:
        self.waits = False  # figures are being kept: nothing may interrupt
        self._heard = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Listen, where signals can be listened to; one that is ignored (nohup) stays ignored."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *error: object) -> None:
        """As it was before."""
        for number, before in self._before.items():
            signal.signal(number, before)

    def _stop(self, _number: int, _frame: object) -> None:
        first, self._heard = not self._heard, True
        if first and not self.waits:
            raise KeyboardInterrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Where the figures go."""

    save: str | None = None  # a file for `bench --from`
    rows: str | None = None  # a folder of runs for `calibrate`
    history: bool = True


def bench(
    *parts: str,
    wish: BenchWish | None = None,
    plan: str | None = None,
    keep: Keep | None = None,
    progress: Progress | None = None,
) -> BenchRun:
    """Measure; without parts named, everything that can be measured here.

    `plan`: a file of `plan --json`, whose load the endpoint is sent and whose figures it is held against.
    """
    wish, keep = wish or BenchWish(), keep or Keep()
    began = time.monotonic()
    planned = None
    if plan is not None:
        from rigright.verbs.runs.planned import read_plan  # the planner's arrays, for those with a plan only

        planned = read_plan(plan)
        wish = replace(wish, load=_load_of(planned, wish))
    names = pick(parts, wish)
    # refuse before anything is measured what would be refused after it
    if wish.endpoint is not None:
        base_of(wish.endpoint)
    if keep.save is not None:
        check_place(keep.save)
    machine = probe(here())
    results: list[Result] = []
    skipped: list[Skipped] = []
    begun: list[str] = []

    def step(name: str, place: tuple[int, int]) -> None:
        begun.append(name)
        if progress is not None:
            progress(PARTS[name].title if name else say("done"), place)

    with Stop() as stop:
        try:
            done = measured(names, wish, machine=machine, env=os.environ, progress=step, began_s=began)
            for result in done:
                (results if isinstance(result, Result) else skipped).append(result)  # type: ignore[arg-type]
            stop.waits = True
        except KeyboardInterrupt:
            stop.waits = stopped = True
            # the part that was not ended when somebody broke it off, and those that were not begun
            middle = [Skipped(part=name, why=say("interrupted")) for name in begun[-1:] if name]
            before = say("not started: interrupted")
            skipped += middle + [Skipped(part=name, why=before) for name in names if name not in begun]
        else:
            stopped = False
        made = BenchRun(
            machine=machine,
            results=tuple(by_plan(figure, planned) for figure in compare_all(results, case_of(machine))),
            skipped=tuple(skipped),
            titles=tuple((name, PARTS[name].title) for name in names),
            quick=wish.quick,
            seconds=time.monotonic() - began,
            stopped=stopped,
            notes=tuple(_other_side(results, case_of(machine).chips)),
        )
        return _kept(made, results, keep=keep, planned=planned)


def _other_side(results: Sequence[Result], seen: Sequence[Chip | None]) -> Iterator[Sentence]:
    """What a card would take for the Transformer that only the processor ran: its work, and its launches."""
    forward = {result.on: result.value for result in results if result.part == "transformer"}
    if set(forward) != {"cpu"}:
        return
    chip = next((chip for chip in seen if chip and chip.fp32_flops_per_s), None) or find_chip(_USUAL_CARD)
    most_s = FORWARD_FLOPS / (chip.fp32_flops_per_s or float("inf"))
    low, value, high = (
        max(most_s / share, FORWARD_LAUNCHES * launch_s) for share, launch_s in (_BEST, _TYPICAL, _WORST)
    )
    times = {"value": show_seconds(value), "low": show_seconds(low), "high": show_seconds(high)}
    yield say(
        "transformer on {chip}: {value} predicted ({low}-{high}), {times} times as fast as this CPU",
        **times, chip=chip.name, times=show_short(forward["cpu"] / value),
    )  # fmt: skip


def _load_of(planned: PlannedRun, wish: BenchWish) -> SentLoad:
    """The load that a plan was made for; there must be a server to send it to."""
    if wish.endpoint is None:
        raise AskError(
            say("--plan sends a load to a server: add --endpoint"),
            hint=say("for example {example}", example="--endpoint http://127.0.0.1:8000/v1"),
        )
    if planned.load is None:
        raise AskError(say("this is a training plan: it has no load to send"))
    return planned.load


def by_plan(item: BaselineFigure, planned: PlannedRun | None) -> BaselineFigure:
    """A figure of the endpoint against the plan's: slow where it lies beyond the slow end of the band."""
    if planned is None or item.result.part != "endpoint":
        return item
    figure = planned.figure(PLANNED.get(item.result.what.partition(",")[0], ""))
    if figure is None:
        return item
    value, low, high = figure
    is_time = item.result.unit == "s"
    least = high if is_time else low
    is_slow = item.result.value > least if is_time else item.result.value < least
    return replace(
        item,
        verdict="slow" if is_slow else "expected",
        basis="planned",
        full=value,
        least=least,
        share=value / item.result.value if is_time else item.result.value / value,
    )


def bench_from(file: str) -> BenchRun:
    """Figures of a file: what `--save` wrote, or a log of another program of it."""
    bench_file = read_results(file)
    machine = bench_file.machine if bench_file.machine is not None else probe(here())
    names = tuple(dict.fromkeys(result.part for result in bench_file.results))
    titles = {name: part.title for name, part in PARTS.items()} | TITLES
    return BenchRun(
        machine=machine,
        results=compare_all(bench_file.results, case_of(machine)),
        skipped=bench_file.skipped,
        titles=tuple((name, titles.get(name) or say("{text}", text=name)) for name in names),
        quick=bench_file.quick,
        seconds=bench_file.seconds,
        notes=()
        if bench_file.machine
        else (say("compared with this machine: the file does not say which one"),),
    )


def baseline(file: str | None) -> Baseline | None:
    """What nodes of this type reach, where a file is named."""
    return load(file)


def against(made: BenchRun, expected: Baseline | None) -> Examined | None:
    """The figures held against what nodes of this type reach."""
    if expected is None:
        return None
    results = tuple(figure.result for figure in made.results)
    return examine(case_of(made.machine, results=results, baseline=expected), ("baseline_bench",))


def parts() -> PartList:
    """What can be measured."""
    return PartList(parts=tuple(BenchPart(part.name, part.title, part.group) for part in PARTS.values()))


def listen(address: str, given: Callable[[str], None]) -> None:
    """Answer other rigrights' `bench network --peer` until the process is stopped."""
    from rigright.machine.bench.parts import network

    host, port = network.address_of(address)
    with network.listener(host, port) as waiting:
        given(f"{host}:{waiting.getsockname()[1]}")
        for thread in network.attended(waiting):
            while thread.is_alive():
                thread.join(0.5)


def _kept(made: BenchRun, results: Sequence[Result], *, keep: Keep, planned: PlannedRun | None) -> BenchRun:
    """Write the figures where they were asked to go; a history that cannot be written is told of, no more."""
    notes = list(made.notes)
    if keep.save is not None:
        save_results(made, keep.save)
        made = replace(made, saved=keep.save)
    if keep.rows is not None:
        made = replace(made, rows=write_rows(results, made.machine, folder=Path(keep.rows), planned=planned))
        if not made.rows:
            notes.append(say("none of these results is a run for `calibrate`"))
    if keep.history and results:
        try:
            made = replace(made, history=_remembered(made.machine, results))
        except (RigError, OSError) as error:
            why = error.sentence if isinstance(error, RigError) else error
            notes.append(say("not added to the history: {why}", why=why))
    return replace(made, notes=tuple(notes))


def _remembered(machine: Machine, results: Sequence[Result]) -> str:
    from rigright.machine.history.store import open_history

    with open_history(patience_s=_KEPT_PATIENCE_S) as history:
        history.add_machine(machine)
        history.add_results(results, machine)
        return str(history.path)
