"""The page of `watch --once`: the machine at one moment."""

from __future__ import annotations

from rigright.base import telling
from rigright.base.page import Line, Page, Part, Points, Shown, Tone, number, prose, table
from rigright.base.words import say, with_commas
from rigright.report.live import readings
from rigright.report.live.lists import FIGURES
from rigright.verbs.watch.watched import MachineMoment


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
            slow = readings.slowed_by(device)
            wrong: list[Shown] = [*readings.troubles(device), *([slow[0]] if slow else [])]
            state = with_commas(wrong if wrong and tone == "good" else [sentence, *wrong]) or ""
            rows.append(
                (device.card, readings.name(device), *(column.text(device) for column in FIGURES), state)
            )
            tones.append("plain" if tone == "good" else tone)
        parts.append(table((say("card"), say("name"), *figures, prose(say("state"))), rows, tones=tones))
    else:
        parts.append(Line(text=say("no GPU listed by a driver"), tone="dim"))
    parts.append(Points(title=say("host"), items=tuple(readings.host(tick.host))))
    parts += [Line(text=given, tone=tone) for given, tone in map(readings.event, moment.events)]
    parts += [Line(text=note, tone="warn") for note in moment.notes]
    return Page(
        title=say("{host} at {time}", host=moment.host_name, time=readings.clock(tick.at_s)),
        parts=tuple(parts),
    )


plain = telling.RecordPrinter(MachineMoment, endless="inf")
