"""What binds a machine, as a page and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rigright.base import telling
from rigright.base.page import (
    Bar,
    Bars,
    Commands,
    Line,
    Page,
    Part,
    Piece,
    Points,
    Shown,
    Strip,
    Strips,
    Tone,
    known,
    number,
    prose,
    records,
)
from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import JudgedCause
from rigright.doctor.binding.record import Bound
from rigright.doctor.record import Step
from rigright.machine.parts.node_power import beside_cards
from rigright.report.named import first_of, of_origin, partly
from rigright.verbs.diagnose import BottleneckReport

_MOST_LISTED = 3  # causes that are stated in full
_BUSY_ENOUGH = 0.85
_MOST_SHARE = 0.9  # of the time; what is left beyond it is no more than the counters' error
_SMALL_GAIN, _LARGE_GAIN = 1.1, 10.0  # below the one a second decimal tells something, above the other none


def page(result: BottleneckReport) -> Page:
    """The whole page."""
    tone: Tone = "bad" if result.judgement.first is not None else "plain"
    return Page.of(verdict(result), _parts(result), tone=tone)


def _parts(result: BottleneckReport) -> Iterator[Part]:
    diagnosis = result.diagnosis
    if result.cut:
        yield Line.warn(partly(result.cut))
    if not diagnosis.bounds:  # else the strips say what they show
        yield Line.dim(say("bottleneck analysis ({source})", source=result.source))
    lead = result.judgement.first
    if lead is not None:
        yield Points.of(_mended(lead), title=lead.finding.title, tone="bad")
        if diagnosis.bounds:
            yield Line.dim(bound(result))
    if diagnosis.bounds:
        yield from _over_time(result)
    for item in diagnosis.bounds[:_MOST_LISTED]:
        yield _bound_points(item, result.judgement.steps(item), once=result.is_snapshot)
    if result.drifts:
        yield records(
            result.drifts,
            (
                (prose(say("benchmark")), lambda drift: f"{drift.latest.part} {drift.latest.what}"),
                (say("measured on"), lambda drift: drift.latest.on),
                (number(say("vs first run")), lambda drift: f"{drift.ratio:.0%}"),
            ),
            title=say("slower than the first run"),
        )
    items = dict.fromkeys(
        say("{title} ({check})", title=finding.title, check=check)
        for check, finding in result.findings
        if lead is None or finding.title != lead.finding.title
    )
    yield Points.of(items, title=say("doctor findings"), tone="warn")
    yield from map(Line.dim, (*diagnosis.notes, *diagnosis.unseen))
    yield Commands.next(_next(result))


def _over_time(result: BottleneckReport) -> Iterator[Part]:
    """What bound it over the time, and how busy things were; of one moment there is no such thing."""
    if result.is_snapshot:
        yield Line.dim(result.source)
        return
    yield Bars(bars=(time_bar((item.cause.title, item.share) for item in result.diagnosis.bounds),))
    ticks, names, devices = result.ticks, dict(result.names), result.diagnosis.devices
    busy = [{device.index: device.busy_share for device in tick.devices} for tick in ticks]
    strips = (
        *(
            _strip(
                say("GPU {index} busy", index=index),
                [shares.get(index) for shares in busy],
                what=names.get(index, ""),
            )
            for index in devices
        ),
        _strip(say("all cores busy"), [tick.host.cpu_share for tick in ticks]),
        _strip(say("busiest disk"), [tick.host.disk_busy_share for tick in ticks]),
    )
    yield Strips(strips=strips, span=result.source)
    if result.node_power is not None and ticks:
        yield Line.dim(beside_cards(result.node_power, (device.power_w for device in ticks[-1].devices)))


def time_bar(shares: Iterable[tuple[Sentence, float]]) -> Bar:
    """What bound the work for which share of the time."""
    pieces = tuple(Piece(name=title, size=share, shown=f"{share:.0%}") for title, share in shares)
    return Bar(label=say("time"), pieces=pieces, limit=1.0, shown="100%")


def verdict(result: BottleneckReport) -> Sentence:
    """The answer in one sentence: what is wrong and slows the work, else what binds."""
    lead = result.judgement.first
    if lead is None:
        return bound(result)
    if result.diagnosis.bounds:
        return first_of(lead)
    return say("{first}; {second}", first=first_of(lead), second=bound(result))


def _mended(lead: JudgedCause) -> Iterator[Sentence]:
    """What shows it, what follows from it, and the steps."""
    for seen in lead.finding.evidence:
        yield _with_command(say("seen: {what}", what=seen.shows), seen.command)
    for _, finding in lead.consequences:
        yield say("consequence: {title}", title=finding.title)
    for step in lead.finding.fix:
        yield _with_command(step.says, step.command)


def _with_command(says: Sentence, command: str | None) -> Sentence:
    return say("{step} (`{command}`)", step=says, command=command) if command else says


def bound(result: BottleneckReport) -> Sentence:
    """What binds, in one sentence."""
    diagnosis = result.diagnosis
    if not diagnosis.bounds:
        return _idle(result)
    first, busy_share = diagnosis.bounds[0], diagnosis.busy_share
    waits = next((item for item in diagnosis.bounds if item.cause.side == "waiting"), None)
    fields: dict[str, Shown | None] = {
        "cause": first.cause.title,
        "share": f"{first.share:.0%}",
        "busy": known(busy_share, "{:.0%}".format),
    }
    if result.is_snapshot or (waits is None and busy_share is not None and busy_share < _BUSY_ENOUGH):
        return _in_snapshot(fields, busy_share)
    if busy_share is None:
        return say("bottleneck: {cause}, {share} of the time", **fields)
    if waits is None or busy_share >= _BUSY_ENOUGH:
        return say("bottleneck: {cause}, {share} of the time; GPUs busy {busy}", **fields)
    fields |= {"cause": waits.cause.title, "share": f"{waits.share:.0%}"}
    return say("GPUs busy only {busy}: waiting on {cause} ({share} of the time)", **fields)


def _idle(result: BottleneckReport) -> Sentence:
    """That no load was seen, and where to see one."""
    if result.cut:
        return say("no load found, but the file is truncated: the rest was not read")
    if result.is_snapshot:
        return say("no load in this file: capture it while the job runs")
    return say("nothing is running: start the job, then run diagnose again")


def _in_snapshot(fields: dict[str, Shown | None], busy_share: float | None) -> Sentence:
    """What one moment shows: how busy cards were, never for how long."""
    if busy_share is None:
        return say("limited by {cause}", **fields)
    if busy_share >= _BUSY_ENOUGH:
        return say("GPUs busy {busy}, limited by {cause}", **fields)
    return say("GPUs busy {busy}, limited by {cause}; the rest of the wait is not visible", **fields)


def _strip(label: Sentence, values: Sequence[float | None], *, what: str = "") -> Strip:
    seen = [value for value in values if value is not None]
    shown = f"{sum(seen) / len(seen):.0%} {what}".strip() if seen else "?"
    return Strip(label=label, values=tuple(values), shown=shown, high=1.0)


def _bound_points(item: Bound, remedies: tuple[Step, ...], *, once: bool) -> Points:
    """One thing that binds; what was seen `once` tells no share of the time."""
    cause, evidence, gain = item.cause, item.evidence, shown_gain(item.most_gain)
    shown = evidence.shows
    if evidence.command:
        shown = say("seen: {what} (`{command}`)", what=shown, command=evidence.command)
    most = say("removing this bottleneck speeds the job up by {gain}x at most", gain=gain)
    items = (
        shown,
        None if item.seen else say("inferred: no other resource was saturated"),
        most if item.share <= _MOST_SHARE and not once else None,
        *(_with_command(step.says, step.command) for step in remedies),
    )
    title = say("{cause}: {share} of the time", cause=cause.title, share=f"{item.share:.0%}")
    return Points.of(items, title=cause.title if once else title)


def shown_gain(times: float) -> str:
    """Two digits: shares of time and rules of experience bear no more."""
    digits = 2 if times < _SMALL_GAIN else 1 if times < _LARGE_GAIN else 0
    return f"{times:.{digits}f}"


def _next(result: BottleneckReport) -> Iterator[str]:
    is_live = result.origin == "live"
    of_it = of_origin(result.origin)
    if result.findings:
        yield f"rigright doctor{of_it}"
    if not result.diagnosis.bounds and is_live:
        yield "rigright diagnose --for 30s"
        return
    yield f"rigright upgrade{of_it}"
    if is_live:
        yield "rigright bench --quick"


plain = telling.RecordPrinter(BottleneckReport, verdict=verdict)
