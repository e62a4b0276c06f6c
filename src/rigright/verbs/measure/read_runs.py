"""What a benchmark wrote while it was measured, beside the plan it was run for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rigright.base.errors import AskError, RigError
from rigright.base.units import KILO
from rigright.base.words import say
from rigright.verbs.measure.measured import Measured, PlannedFigure
from rigright.verbs.measure.saved import save
from rigright.verbs.runs.document import Run, number
from rigright.verbs.runs.files import gather
from rigright.verbs.runs.planned import PlannedRun, count_of, read_plan
from rigright.verbs.runs.setup import completed, planned_setup

FIGURES = {  # of a table of runs -> of a plan, how it is called, its unit, and how many of ours make one
    "ttft_ms": ("ttft_s", say("TTFT"), "s", KILO),
    "tpot_ms": ("tpot_s", say("TPOT"), "s", KILO),
    "output_tok_s_total": ("output_tok_per_s", say("output tokens/s"), "tok_per_s", 1.0),
    "tok_per_s_per_chip": ("train_tok_per_s", say("total tokens/s"), "tok_per_s", 1.0),
}
_STALE_S = 1.0  # clocks of file systems are coarse
_APART = 1.05  # a load that differs by more than that is another


def with_runs(measured: Measured, files: Sequence[str], *, plan: str, save_as: str | None) -> Measured:
    """The same beside what its command wrote: each figure that files and plan both have."""
    planned = read_plan(plan)
    try:
        runs = list(_runs(files, planned))
    except RigError as error:
        return replace(measured, notes=(*measured.notes, say("not read: {why}", why=error.whole)))
    notes = [
        say("{file} is older than this run", file=file)
        for file in files
        if Path(file).is_file() and Path(file).stat().st_mtime < measured.at_s - _STALE_S
    ]
    users = number(planned.wish.get("users"))
    loads = {load for run in runs if (load := number(run.cells.get("load")))}
    if users and any(not users / _APART <= load <= users * _APART for load in loads):
        text = ", ".join(f"{load:g}" for load in sorted(loads))
        notes.append(
            say("measured at concurrency {loads}; the plan assumes {users}", loads=text, users=f"{users:g}")
        )
    figures = [figure for run in runs for figure in _beside_plan(run, planned)]
    if not figures:
        notes.append(say("the file has no metric from the plan"))
    whole = replace(measured, held=(*measured.held, *figures), notes=(*measured.notes, *notes))
    if save_as is not None and Path(save_as).suffix.lower() != ".csv":
        save(whole, save_as, planned=planned)
    return whole


def _runs(files: Sequence[str], planned: PlannedRun) -> Iterator[Run]:
    setup = planned_setup(planned)
    for file in gather(files):
        if file.output is None:
            raise AskError(say("{file} is not the output of a known benchmark", file=file.name))
        for run in file.output.rows(file.document, setup):
            yield Run(kind=run.kind, cells=completed(run.kind, run.cells, setup=setup))


def _beside_plan(run: Run, planned: PlannedRun) -> Iterator[PlannedFigure]:
    for column in (run.cells.get("metric"), "tok_per_s_per_chip"):
        if column not in FIGURES:
            continue
        name, label, unit, times = FIGURES[column]
        value = number(run.cells.get("value") if column == run.cells.get("metric") else run.cells.get(column))
        row = planned.figure(name)
        if value is None or row is None:
            continue
        cards = count_of(planned.plan.get("n_chips")) if column == "tok_per_s_per_chip" else 1
        low, high = sorted(row[1:])
        yield PlannedFigure(
            name=name, label=label, unit=unit, planned=row[0], low=low, high=high,
            measured=value * cards / times,
        )  # fmt: skip
