"""The page of `bench`: figures by part, what each should be, and what to look at where it is less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rigright.base import telling
from rigright.base.page import (
    Commands,
    Line,
    Page,
    Part,
    Points,
    Shown,
    Tone,
    grouped,
    number,
    prose,
    records,
    table,
)
from rigright.base.units import show_measured, show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.examine import Examined
from rigright.doctor.record import Finding, Fine
from rigright.doctor.reference import BaselineFigure
from rigright.report.pages.baseline import below_baseline
from rigright.verbs.bench.record import BenchRun, PartList

_VERDICTS: dict[str, tuple[Shown, Tone]] = {
    "expected": (say("as expected"), "plain"),
    "behind": (say("slightly slow"), "warn"),
    "slow": (say("slow"), "bad"),
    "wrong": (say("wrong values"), "bad"),
    "unknown": ("-", "plain"),
}

CELLS = 10  # of the bar of what was reached
_MOST_NOTED = 12
_FAR_APART = 2.0  # the best repeat over the worst: the middle alone would mislead


def page(result: BenchRun, *, against: Examined | None = None) -> Page:
    """The page for people; `against` is what a baseline says of the figures."""
    stopped = say("interrupted: results so far are below")
    return Page.of(
        _verdict(result),
        None if against is None else _against(against),
        Line.warn(stopped) if result.stopped else None,
        Points.of(map(_slow, result.slow_results), title=say("below expectation"), tone="bad"),
        (part for name, title in result.titles for part in _part(result, name, title=title)),
        _best(result),
        Points.of(_skipped(result), title=say("not measured"), tone="dim"),
        map(Line.dim, _footnotes(result)),
        Commands.next(_next(result)),
    )


def _part(result: BenchRun, name: str, *, title: Sentence) -> Iterator[Part]:
    """The figures of a part; alone where nothing could be held against anything."""
    figures = [figure for figure in result.results if figure.result.part == name]
    if not figures:
        return
    judged = any(figure.verdict != "unknown" for figure in figures)
    yield records(
        figures,
        (
            (prose(say("figure")), lambda figure: figure.result.what),
            (prose(say("where")), lambda figure: figure.result.on),
            (number(say("measured")), lambda figure: show_measured(figure.result.value, figure.result.unit)),
            (number(say("expected")), _should if judged else None),
            (say("of peak"), _bar if judged else None),
            (say("verdict"), verdict if judged else None),
        ),
        title=title,
        tone=lambda figure: _VERDICTS[figure.verdict][1],
    )
    # the settings that all of them share
    first, *rest = [figure.result.settings for figure in figures]
    shared = [pair for pair in first if all(pair in other for other in rest)]
    if shared:
        yield Line.dim("; ".join(f"{name.replace('_', ' ')} {value}" for name, value in shared))


def _against(examined: Examined) -> Points | Line:
    """The figures below the baseline of this node type."""
    below = tuple(finding for _, finding in examined.findings)
    if not below:
        fine = examined.count(Fine)
        return Line(
            text=say("{count} results reach the baseline", count=fine), tone="good" if fine else "dim"
        )
    return below_baseline(below)


def _verdict(result: BenchRun) -> Line:
    rest = sum(figure.verdict == "unknown" for figure in result.results)
    judged = len(result.results) - rest
    if not result.results:
        return Line.warn(say("nothing was measured"))
    if not judged:
        return Line(text=say("{count} results, no reference values to compare with", count=rest))
    if result.wrong_results:
        return Line.bad(
            say("data corruption: {count} results with wrong values", count=len(result.wrong_results))
        )
    if result.slow_results:
        worst = result.slow_results[0].result
        fields = {"slow": len(result.slow_results), "judged": judged, "on": worst.on}
        what = f"{worst.part} {worst.what}"
        return Line.bad(
            say("{slow} of {judged} results below expectation, worst: {what} on {on}", what=what, **fields)
        )
    sentence = say("{judged} results as expected", judged=judged)
    return Line.good(
        say("{said}; {count} have no reference", said=sentence, count=rest) if rest else sentence
    )


def _slow(figure: BaselineFigure) -> Sentence:
    """One figure that is less, by how much, against what, and what to check."""
    result = figure.result
    value, least = (show_measured(each, result.unit) for each in (result.value, figure.least or 0.0))
    fields = {"what": f"{result.part} {result.what}", "on": result.on, "basis": basis(figure)}
    if result.unit == "s":
        return say(
            "{what} on {on}: {value}, at most {least} expected ({basis})", value=value, least=least, **fields
        )
    return say(
        "{what} on {on}: {value}, at least {least} expected ({basis})", value=value, least=least, **fields
    )


def basis(figure: BaselineFigure) -> Sentence | str:
    """What kind of expectation it is."""
    if figure.basis is None:
        return ""
    return {
        "other cards": say("other GPUs of this machine"),
        "least": say("operators' acceptance limit"),
        "measured": say("measured on a healthy device"),
        "stated": say("a share of the rated peak"),
        "floor": say("typical for this type"),
        "planned": say("the plan, with its 80 % band"),
    }[figure.basis]


def _skipped(result: BenchRun) -> Iterator[Sentence]:
    """Each reason once, with the parts it holds for."""
    for why, names in grouped((skipped.why, skipped.part) for skipped in result.skipped).items():
        yield say("{part}: {why}", part=", ".join(dict.fromkeys(names)), why=why)


def _should(figure: BaselineFigure) -> str:
    if figure.least is None:
        return ""
    return f"{'<=' if figure.result.unit == 's' else '>='} {show_measured(figure.least, figure.result.unit)}"


def _bar(figure: BaselineFigure) -> str:
    """How much of the full figure was reached."""
    if figure.share is None or figure.basis == "floor":
        return ""
    cells = min(CELLS, round(figure.share * CELLS))
    return f"{'#' * cells}{'.' * (CELLS - cells)} {figure.share:.0%}"


def verdict(figure: BaselineFigure) -> Shown:
    """In two words."""
    return _VERDICTS[figure.verdict][0]


def _best(result: BenchRun) -> Commands | None:
    """The best settings of the DataLoader, ready to be copied."""
    best = next((figure.result for figure in result.results if figure.result.what == "best"), None)
    if best is None:
        return None
    pairs = (pair for pair in best.settings if pair[0] not in {"torch", "batch_size"})
    settings = ", ".join(f"{name}={value}" for name, value in pairs)
    return Commands(items=(f"DataLoader(..., {settings})",), title=say("best DataLoader settings here"))


def _footnotes(result: BenchRun) -> Iterator[Sentence]:
    noted = [figure for figure in result.results if figure.notes][:_MOST_NOTED]
    pairs = ((figure.result, note) for figure in noted for note in figure.notes)
    yield from dict.fromkeys(
        say("{what} on {on}: {why}", what=f"{one.part} {one.what}", on=one.on, why=note)
        for one, note in pairs
    )
    yield from result.notes
    # that repeats of one and the same thing lay far apart, of the worst
    results = [figure.result for figure in result.results]
    far = [one for one in results if one.repeats > 1 and 0 < _FAR_APART * one.low < one.high]
    if far:
        worst = max(far, key=lambda one: one.high / one.low)
        low, high = (show_measured(end, worst.unit) for end in (worst.low, worst.high))
        yield say(
            "noisy results: {count}, worst: {what}, {low} to {high}; other programs may be "
            "running, or clocks changed. Medians are shown",
            count=len(far), what=f"{worst.part} {worst.what}", low=low, high=high,
        )  # fmt: skip
    # which figures stand on one measurement: of a part by its name, where all of its figures do
    names: list[str] = []
    for part, mine in grouped((one.part, one) for one in results).items():
        once = [one.what for one in mine if one.repeats == 1]
        names += [part] if len(once) == len(mine) else [f"{part} {what}" for what in once]
    yield say("measured once, variation unknown: {names}", names=", ".join(names) or None)
    if result.quick:
        yield say("quick run: less precise; small disk test file")
    time = show_seconds(result.seconds)
    yield say("added to the history ({path}); took {time}", path=result.history, time=time)
    yield say("written to {file}", file=result.saved)
    for file in result.rows:
        yield say("runs for `calibrate --from`: {file}", file=file)


def _next(result: BenchRun) -> Iterator[str]:
    worst = ("bench_wrong",) if result.wrong_results else ()
    checks = list(
        dict.fromkeys((*worst, *(check for figure in result.slow_results for check in figure.checks)))
    )
    if checks:
        yield f"rigright doctor --only {','.join(checks[:6])}"
    if result.quick:
        yield "rigright bench"
    for file in result.rows:
        yield f"rigright calibrate --from {file}"


def list_page(listed: PartList) -> Page:
    """What can be measured."""
    rows = ((part.part, part.group, part.title) for part in listed.parts)
    columns = (say("part"), say("group"), prose(say("what it measures")))
    return Page.of(say("parts of the benchmark"), table(columns, rows))


def plain_against(result: BenchRun, language: str, *, against: Examined | None) -> dict[str, Any]:
    """The same for scripts, held against a baseline."""

    def below(_: BenchRun) -> tuple[Finding, ...]:
        return () if against is None else tuple(finding for _, finding in against.findings)

    return telling.RecordPrinter(BenchRun, below_baseline=below)(result, language)


def _below(_: BenchRun) -> tuple[Finding, ...]:
    """With `--baseline`: what does not reach it."""
    return ()


plain = telling.RecordPrinter(BenchRun, below_baseline=_below)
list_plain = telling.RecordPrinter(PartList)
