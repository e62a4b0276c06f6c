"""What a command took, as a page and as data."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from rigright.base import telling
from rigright.base.page import (
    Commands,
    Line,
    Page,
    Part,
    Points,
    Shown,
    Strip,
    Strips,
    Table,
    facts,
    number,
    prose,
    records,
)
from rigright.base.units import KILO, show_bytes, show_count, show_measured, show_seconds, show_watts
from rigright.base.words import Sentence, say
from rigright.report.screen import cut
from rigright.verbs.measure.ticks import Course, Measured, PlannedFigure

_JOULES_PER_WH = 3600.0
_LONGEST = 60  # letters of a command in a title


def page(measured: Measured) -> Page:
    """The whole page."""
    title = say(
        "resources used by {command}", command=cut(shlex.join(measured.command), _LONGEST, mark="...")
    )
    return Page.of(title, _parts(measured))


def _parts(measured: Measured) -> Iterator[Part]:
    yield _verdict(measured)
    yield facts((label, shown) for label, shown in _figures(measured) if shown)
    moved = tuple(course for course in measured.courses if course.unit != "bytes_per_s" or course.peak)
    if moved:
        span = say("wall time: {time}", time=show_seconds(measured.lasted_s))
        yield Strips(strips=tuple(map(_strip, moved)), span=span)
    if measured.held:
        yield _against(measured.held)
    yield Points.of(_slowed(measured), title=say("throttled"), tone="warn")
    yield from map(Line.dim, measured.notes)
    if any(not figure.inside for figure in measured.held):
        yield Commands.next(("rigright doctor", "rigright diagnose"))


def _slowed(measured: Measured) -> Iterator[Sentence]:
    """What held which card back, and for how long."""
    for name, time_s in measured.slowed_s:
        _, index, word = name.split(" ", 2)
        share = time_s / measured.lasted_s if measured.lasted_s else 0.0
        yield say(
            "GPU {index}: {word} for {time} ({share} of the time)",
            index=index, word=word, time=show_seconds(time_s), share=f"{share:.0%}",
        )  # fmt: skip


def sheet(measured: Measured) -> Page:
    """Each quantity over the time as a row, in SI units and bytes, for a spreadsheet."""
    quantities = records(
        measured.courses,
        (
            (say("quantity"), lambda course: course.name),
            (say("unit"), lambda course: course.unit),
            (say("peak"), lambda course: _number(course.peak)),
            (say("median"), lambda course: _number(course.median)),
            (say("mean"), lambda course: _number(course.mean)),
            (say("before"), lambda course: _number(course.before)),
        ),
    )
    return Page.of("", quantities)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _verdict(measured: Measured) -> Line:
    time = show_seconds(measured.lasted_s)
    if measured.by_signal:
        sentence = say("ended by {signal} after {time}", signal=measured.by_signal, time=time)
    elif measured.exit_code:
        sentence = say("ended with exit code {code} after {time}", code=measured.exit_code, time=time)
    else:
        sentence = say("exit 0 after {time}", time=time)
    return Line(text=sentence, tone="warn" if measured.exit_code else "good")


def _figures(measured: Measured) -> Iterator[tuple[Shown, Shown]]:
    for (index, size), name in zip(measured.gpu_peak_bytes, measured.chips, strict=False):
        yield say("peak memory, GPU {index} {name}", index=index, name=name), show_bytes(size)
    if measured.host_peak_bytes is not None:
        yield say("peak system memory"), show_bytes(measured.host_peak_bytes)
    if measured.cpu_s is not None:
        share = measured.cpu_s / measured.lasted_s if measured.lasted_s else 0.0
        time = show_seconds(measured.cpu_s)
        yield say("CPU time"), say("{time}: {cores} cores on average", time=time, cores=f"{share:.1f}")
    if measured.read_bytes is not None:
        yield say("read from disks"), show_bytes(measured.read_bytes)
    if measured.written_bytes is not None:
        yield say("written to disks"), show_bytes(measured.written_bytes)
    if measured.total_energy_j is not None:
        hours = measured.total_energy_j / _JOULES_PER_WH
        yield say("GPU energy"), f"{hours / KILO:.3g} kWh" if hours >= KILO else f"{hours:.3g} Wh"
    yield from _rates(measured)


def _rates(measured: Measured) -> Iterator[tuple[Shown, Shown]]:
    if measured.steps:
        yield say("a step"), show_seconds(measured.lasted_s / measured.steps)
    if measured.tokens:
        yield say("tokens/s"), show_count(measured.tokens / measured.lasted_s)
        if measured.total_energy_j:
            yield say("energy per token"), f"{measured.total_energy_j / measured.tokens:.3g} J"


def _strip(course: Course) -> Strip:
    most, usual = _amount(course.peak, course.unit), _amount(course.median, course.unit)
    return Strip(
        label=course.label,
        values=course.values,
        shown=say("{usual}, at most {most}", usual=usual, most=most),
        high=1.0 if course.unit == "share" else None,
    )


def _amount(value: float, unit: str) -> str:
    """A value in its unit, for people."""
    if unit == "bytes":
        return show_bytes(value)
    if unit == "w":
        return show_watts(value)
    if unit == "bytes_per_s":
        return show_measured(value, unit)
    if unit == "s":
        return show_seconds(value)
    if unit == "tok_per_s":
        return f"{value:,.0f} tok/s"
    return {"share": f"{value:.0%}", "c": f"{value:.0f} °C", "cores": f"{value:.1f}"}[unit]


def _against(figures: Iterable[PlannedFigure]) -> Table:
    return records(
        figures,
        (
            ("", lambda figure: figure.label),
            (number(say("planned")), _planned),
            (number(say("measured")), lambda figure: _amount(figure.measured, figure.unit)),
            (prose(say("verdict")), _judged),
        ),
        title=say("vs plan"),
        tone=lambda figure: "good" if figure.inside else "warn",
    )


def _planned(figure: PlannedFigure) -> str:
    value, low, high = (_amount(item, figure.unit) for item in (figure.planned, figure.low, figure.high))
    return f"{value} ({low}-{high})"


def _judged(figure: PlannedFigure) -> Sentence:
    share = f"{figure.ratio:.0%}"
    if figure.inside:
        return say("as planned: {share} of the plan", share=share)
    return say("outside the plan's band: {share} of the plan", share=share)


plain = telling.RecordPrinter(Measured)
