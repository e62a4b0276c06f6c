"""What was measured beside a plan's figures: memory, speed, power, and what the command itself wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rigright.base.errors import AskError, RigError, maybe
from rigright.base.units import KILO
from rigright.base.words import Sentence, say
from rigright.cost.power import draw_w
from rigright.facts.chips import Chip, by_id
from rigright.facts.find import find_chips
from rigright.search.figures import PHASES
from rigright.terms.fitted import busy_in, power_terms
from rigright.verbs.measure.record import Measured, PlannedFigure
from rigright.verbs.measure.saved import save
from rigright.verbs.runs.document import Run, number
from rigright.verbs.runs.files import gather
from rigright.verbs.runs.planned import PlannedRun, count_of, read_plan
from rigright.verbs.runs.setup import completed, planned_setup

_METER = 0.05  # of a reading of power: as near as NVIDIA's manual says its meters are
FIGURES = {  # of a table of runs -> of a plan, how it is called, its unit, and how many of ours make one
    "ttft_ms": ("ttft_s", say("TTFT"), "s", KILO),
    "tpot_ms": ("tpot_s", say("TPOT"), "s", KILO),
    "output_tok_s_total": ("output_tok_per_s", say("output tokens/s"), "tok_per_s", 1.0),
    "tok_per_s_per_chip": ("train_tok_per_s", say("total tokens/s"), "tok_per_s", 1.0),
}
_SPEEDS = ("output_tok_per_s", "train_tok_per_s")
_STALE_S = 1.0  # clocks of file systems are coarse
_APART = 1.05  # a load that differs by more than that is another


def beside_plan(measured: Measured, planned: PlannedRun) -> Measured:
    """Its figures beside the plan's, and why one of them is not."""
    held = hold(measured, planned)
    notes = measured.notes
    no_power = planned.figure("power_w") is not None and all(figure.name != "power" for figure in held)
    if no_power and measured.chips:
        notes += (_why_no_power(measured),)
    return replace(measured, held=held, notes=notes)


def hold(measured: Measured, planned: PlannedRun) -> tuple[PlannedFigure, ...]:
    """Memory of the fullest card, its power, and speed where the user said how many tokens it was."""
    figures: list[PlannedFigure] = []
    memory = planned.device_bytes()
    if memory is not None and measured.gpu_peak_bytes:
        peak = max(size for _, size in measured.gpu_peak_bytes)
        label = say("memory of the fullest GPU")
        figures.append(_figure("memory", label, unit="bytes", band=memory, measured=peak))
    speed = next((row for row in map(planned.figure, _SPEEDS) if row is not None), None)
    if speed is not None and measured.tokens:
        label = say("tokens/s, including start-up and shutdown")
        rate = measured.tokens / measured.lasted_s
        figures.append(_figure("speed", label, unit="tok_per_s", band=speed, measured=rate))
    return (*figures, *_power(measured, planned))


def _figure(
    name: str, label: Sentence, *, unit: str, band: tuple[float, float, float], measured: float
) -> PlannedFigure:
    value, low, high = band
    return PlannedFigure(
        name=name, label=label, unit=unit, planned=value, low=low, high=high, measured=measured
    )


def _power(measured: Measured, planned: PlannedRun) -> Iterator[PlannedFigure]:
    """What a card drew while it worked, and at most; nothing where other cards were used than planned.

    A plan's own figure is at the wall, its law knows the part of the cards.
    """
    chip = by_id().get(str(planned.plan.get("chip")))
    phase = PHASES.get(str(planned.wish.get("work")))
    if chip is None or chip.tdp_w is None or phase is None or not measured.working_w:
        return
    if not all(_is(name, chip) for name in measured.chips):
        return
    drawn = draw_w(power_terms((chip,)), busy_in(phase))
    band = (float(drawn.value[0]), float(drawn.low[0]), float(drawn.high[0]))
    watts = sum(watts for _, watts in measured.working_w) / len(measured.working_w)
    yield _figure("power", say("power per GPU under load"), unit="w", band=band, measured=watts)
    # the most that any card drew at one moment
    peak = max((course.peak for course in measured.courses if course.unit == "w"), default=None)
    if peak is not None:
        band = (chip.tdp_w, band[1], chip.tdp_w * (1 + _METER))
        yield _figure("peak power", say("peak power per GPU vs rating"), unit="w", band=band, measured=peak)


def _why_no_power(measured: Measured) -> Sentence:
    """What was missing to hold power against a plan that has it."""
    if measured.working_w:
        return say("power not compared with the plan: different GPUs than planned")
    if any(course.unit == "w" for course in measured.courses):
        return say("power not compared with the plan: no GPU was busy long enough")
    return say("power not compared with the plan: not reported by the driver")


def _is(name: str, chip: Chip) -> bool:
    """Whether a driver's name may mean this chip."""
    return maybe(lambda: any(match.id == chip.id for match in find_chips(name))) or False


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
    cells = run.cells
    for column, cell in ((cells.get("metric"), "value"), ("tok_per_s_per_chip", "tok_per_s_per_chip")):
        if column not in FIGURES:
            continue
        name, label, unit, times = FIGURES[column]
        value, row = number(cells.get(cell)), planned.figure(name)
        if value is None or row is None:
            continue
        cards = count_of(planned.plan.get("n_chips")) if column == "tok_per_s_per_chip" else 1
        band = (row[0], min(row[1:]), max(row[1:]))
        yield _figure(name, label, unit=unit, band=band, measured=value * cards / times)
