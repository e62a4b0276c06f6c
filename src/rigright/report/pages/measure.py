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
    known,
    number,
    prose,
    records,
)
from rigright.base.units import KILO, show_bytes, show_count, show_measured, show_seconds
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
    yield facts(_figures(measured))
    moved = tuple(course for course in measured.courses if course.unit != "bytes_per_s" or course.peak)
    if moved:
        span = say("wall time: {time}", time=show_seconds(measured.lasted_s))
        yield Strips(strips=tuple(map(_strip, moved)), span=span)
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
            (say("peak"), lambda course: f"{course.peak:.6g}"),
            (say("median"), lambda course: f"{course.median:.6g}"),
            (say("mean"), lambda course: f"{course.mean:.6g}"),
            (say("before"), lambda course: known(course.before, "{:.6g}".format)),
        ),
    )
    return Page.of("", quantities)


def _verdict(measured: Measured) -> Line:
    time = show_seconds(measured.lasted_s)
    if measured.by_signal:
        sentence = say("ended by {signal} after {time}", signal=measured.by_signal, time=time)
    elif measured.exit_code:
        sentence = say("ended with exit code {code} after {time}", code=measured.exit_code, time=time)
    else:
        sentence = say("exit 0 after {time}", time=time)
    return Line(text=sentence, tone="warn" if measured.exit_code else "good")


def _figures(measured: Measured) -> Iterator[tuple[Shown, Shown | None]]:
    for (index, size), name in zip(measured.gpu_peak_bytes, measured.chips, strict=False):
        yield say("peak memory, GPU {index} {name}", index=index, name=name), show_bytes(size)
    yield say("peak system memory"), known(measured.host_peak_bytes, show_bytes)
    cores = f"{(measured.cpu_s or 0.0) / measured.lasted_s if measured.lasted_s else 0.0:.1f}"
    time = known(measured.cpu_s, show_seconds)
    yield say("CPU time"), say("{time}: {cores} cores on average", time=time, cores=cores)
    yield say("read from disks"), known(measured.read_bytes, show_bytes)
    yield say("written to disks"), known(measured.written_bytes, show_bytes)
    if measured.total_energy_j is not None:
        hours = measured.total_energy_j / _JOULES_PER_WH
        yield say("GPU energy"), f"{hours / KILO:.3g} kWh" if hours >= KILO else f"{hours:.3g} Wh"
    if measured.steps:
        yield say("a step"), show_seconds(measured.lasted_s / measured.steps)
    if measured.tokens:
        yield say("tokens/s"), show_count(measured.tokens / measured.lasted_s)
        if measured.total_energy_j:
            yield say("energy per token"), f"{measured.total_energy_j / measured.tokens:.3g} J"


def _strip(course: Course) -> Strip:
    most, usual = (show_measured(value, course.unit) for value in (course.peak, course.median))
    return Strip(
        label=course.label,
        values=course.values,
        shown=say("{usual}, at most {most}", usual=usual, most=most),
        high=1.0 if course.unit == "share" else None,
    )


def _against(figures: Iterable[PlannedFigure]) -> Table:
    return records(
        figures,
        (
            ("", lambda figure: figure.label),
            (number(say("planned")), _planned),
            (number(say("measured")), lambda figure: show_measured(figure.measured, figure.unit)),
            (prose(say("verdict")), _judged),
        ),
        title=say("vs plan"),
        tone=lambda figure: "good" if figure.inside else "warn",
    )


def _planned(figure: PlannedFigure) -> str:
    ends = (figure.planned, figure.low, figure.high)
    value, low, high = (show_measured(end, figure.unit) for end in ends)
    return f"{value} ({low}-{high})"


def _judged(figure: PlannedFigure) -> Sentence:
    share = f"{figure.ratio:.0%}"
    if figure.inside:
        return say("as planned: {share} of the plan", share=share)
    return say("outside the plan's band: {share} of the plan", share=share)


plain = telling.RecordPrinter(Measured)
