"""A moment of `watch` where no screen is drawn over: the page of --once, and lines of a log."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base import telling
from rigright.base.page import Line, Page, Part, Points, Shown, Tone, number, prose, table
from rigright.base.words import clean, say, tell, with_commas
from rigright.machine.tick import DeviceTick
from rigright.report import readings
from rigright.report.live.lists import FIGURES
from rigright.report.readings import clock
from rigright.verbs.watch.record import MachineMoment


def page(moment: MachineMoment | None) -> Page:
    """The page for people."""
    if moment is None:
        return Page(title="", parts=())
    tick = moment.tick
    parts: list[Part] = []
    if tick.devices:
        figures = (number(column.head) for column in FIGURES)
        rows: list[tuple[Shown, ...]] = []
        tones: list[Tone] = []
        for device in tick.devices:
            sentence, tone = readings.state(device.state, device.age_s)
            wrong = _wrong(device)
            state = with_commas(wrong if wrong and tone == "good" else [sentence, *wrong]) or ""
            rows.append((device.card, readings.name(device), *_figures(device), state))
            tones.append("plain" if tone == "good" else tone)
        parts.append(table((say("card"), say("name"), *figures, prose(say("state"))), rows, tones=tones))
    else:
        parts.append(Line(text=say("no GPU listed by a driver"), tone="dim"))
    parts.append(Points(title=say("host"), items=tuple(readings.host(tick.host))))
    parts += [Line(text=given, tone=tone) for given, tone in map(readings.event, moment.events)]
    parts += [Line(text=note, tone="warn") for note in moment.notes]
    return Page(
        title=say("{host} at {time}", host=moment.host_name, time=clock(tick.at_s)), parts=tuple(parts)
    )


def _figures(device: DeviceTick) -> list[Shown]:
    return [column.text(device) for column in FIGURES]


def _wrong(device: DeviceTick) -> list[Shown]:
    """What is wrong with a card that answers, and what slows it."""
    slow = readings.slowed_by(device)
    return [*readings.troubles(device), *([] if slow is None else [slow[0]])]


plain = telling.RecordPrinter(MachineMoment, endless="inf")


def log_readings(moment: MachineMoment, language: str) -> Iterator[str]:
    """The host and each card, a line each."""
    rows: list[tuple[str, list[Shown]]] = [("host", [*readings.host(moment.tick.host)])]
    for device in moment.tick.devices:
        state, tone = readings.state(device.state, device.age_s)
        rows.append((device.card, [*_figures(device), *_wrong(device)] if tone == "good" else [state]))
    for name, pieces in rows:
        text = "  ".join(clean(tell(piece, language)) for piece in pieces)
        yield f"{clock(moment.tick.at_s)}  {name:<6} {text}"


def log_events(moment: MachineMoment, language: str) -> Iterator[str]:
    """What happened."""
    for event in moment.events:
        at = clock(moment.tick.at_s if event.at_s is None else event.at_s)
        head, text = (clean(tell(part, language)) for part in (say("event"), readings.event(event)[0]))
        yield f"{at}  {head:<6} {text}"
