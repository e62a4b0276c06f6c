"""What was measured, kept as JSON or as a run, and held against a plan's figures."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rigright.base.errors import AskError, DataError, RigError, maybe
from rigright.base.files import check_place, write_whole
from rigright.base.tables import head_of
from rigright.base.units import KILO, to_gib
from rigright.base.words import Sentence, say
from rigright.cost.power import draw_w
from rigright.facts.chips import Chip, by_id
from rigright.facts.find import find_chips
from rigright.machine.stored import plain
from rigright.search.figures import PHASES
from rigright.terms.fitted import busy_in, power_terms
from rigright.verbs.measure.ticks import Measured, PlannedFigure
from rigright.verbs.runs.columns import completed, planned_setup
from rigright.verbs.runs.document import Run, number
from rigright.verbs.runs.files import gather, read_text
from rigright.verbs.runs.planned import PlannedRun, count_of, read_plan

_TRAINED = ("finetune", "pretrain")


def save(measured: Measured, file: str, *, planned: PlannedRun | None) -> None:
    """Write it by what the file is called: NAME.csv is a table of runs that grows, all else JSON."""
    path = Path(file)
    if path.suffix.lower() == ".csv" and planned is not None:
        # one more line below those that are there, under the same head
        row = run_row(measured, planned)
        there = read_text(file).text if path.exists() else ""
        heads = head_of(there.splitlines(), path.name) or list(row)
        if not set(row) <= set(heads):
            missing = ", ".join(name for name in row if name not in heads)
            raise DataError(
                say(
                    "{file} is a different table: it lacks the column {column}",
                    file=path,
                    column=missing,
                )
            )
        out = io.StringIO()
        writer = csv.DictWriter(out, heads, lineterminator="\n")
        if not there:
            writer.writeheader()
        writer.writerow(row)
        write_whole(path, there + ("\n" if there and not there.endswith("\n") else "") + out.getvalue())
    else:
        write_whole(path, json.dumps(plain(measured, "en"), ensure_ascii=False, indent=2) + "\n")


def check(file: str, *, planned: PlannedRun | None) -> None:
    """Refuse, before anything is run, what could not be saved after it."""
    if Path(file).suffix.lower() == ".csv" and planned is None:
        raise AskError(say("a run in a table needs its model and layout: add --plan, or save to NAME.json"))
    check_place(file)


def run_row(measured: Measured, planned: PlannedRun) -> dict[str, str]:
    """A measured run: what the plan says was run, and what it took."""
    if not measured.gpu_peak_bytes:
        raise AskError(say("the command used no GPU; nothing to add to a table of runs"))
    if planned.wish.get("work") in _TRAINED:
        return _trained(measured, planned)
    # A row of a table of inference memory
    work = planned.work
    batch = count_of(work.get("batch"))
    return {
        **_named(measured, planned, settings=_settings(measured, planned)),
        "format": _cell(work.get("weights")),
        "context": _cell(work.get("context_tok")),
        "batch": _cell(-(-batch // count_of(planned.layout.get("dp")))),  # of one replica
        "kv": _cell(work.get("kv")),
        "what": "total_gpu_preallocated" if planned.fills_cards else "total_gpu_peak",
        "value_gib": _peak_gib(measured),
    }


def _settings(measured: Measured, planned: PlannedRun) -> str:
    """How it was run, in the words that readers of memory tables know."""
    work, layout = planned.work, planned.layout
    texts = [
        measured.chips[0].removeprefix("NVIDIA ") if measured.chips else None,
        f"engine {work['engine']}" if work.get("engine") else None,
        f"TP={layout.get('tp') or 1}, PP={layout.get('pp') or 1}",
        "device memory",
        f"util {work['utilisation']}" if work.get("utilisation") else None,
    ]
    return "; ".join(text for text in texts if text)


def _named(measured: Measured, planned: PlannedRun, *, settings: str = "") -> dict[str, str]:
    return {
        "id": f"measured-{measured.at_s:.0f}",
        "source": "measured here",
        "model": planned.model,
        "arch": planned.model,
        "note": "; ".join(text for text in (settings, shlex.join(measured.command)) if text),
    }


def _peak_gib(measured: Measured) -> str:
    return f"{to_gib(max(size for _, size in measured.gpu_peak_bytes)):.3f}"


def _trained(measured: Measured, planned: PlannedRun) -> dict[str, str]:
    """A row of a table of training runs."""
    work = planned.work
    layout, cards = planned.layout, count_of(planned.plan.get("n_chips"))
    speed = measured.tokens / measured.lasted_s / cards if measured.tokens else None
    micro = count_of(work.get("micro_batch"))
    batch = micro * count_of(work.get("accumulate")) * count_of(layout.get("dp"))
    return {
        **_named(measured, planned),
        "chip": _cell(planned.plan.get("chip")),
        "n_chips": _cell(cards),
        "nodes": _cell(planned.plan.get("n_nodes")),
        "framework": _cell(work.get("trainer")),
        "precision": _cell(work.get("precision")),
        "method": _cell(work.get("method")),
        "optimizer": _cell(work.get("optimizer")),
        "sharding": _cell(work.get("sharding")),
        **{name: _cell(layout.get(name)) for name in ("tp", "pp", "cp", "ep", "dp")},
        "micro_batch": _cell(micro),
        "global_batch": _cell(batch),
        "seq_tok": _cell(work.get("seq_tok")),
        "recompute": _cell(work.get("recompute")),
        "tok_per_s_per_chip": "" if speed is None else f"{speed:.1f}",
        "peak_gib": _peak_gib(measured),
        "peak_kind": "device",
    }


def _cell(value: object) -> str:
    return "" if value is None else str(value)


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
