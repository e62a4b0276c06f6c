"""The page of `watch --once`: the machine at one moment."""

from __future__ import annotations

from rigright.base import telling
from rigright.base.page import Line, Page, Part, Points, Shown, Tone, number, prose, table
from rigright.base.words import say, with_commas
from rigright.report.live import words
from rigright.report.live.recent import clock
from rigright.verbs.watch.watched import MachineMoment


def page(moment: MachineMoment | None) -> Page:
    """The page for people."""
    if moment is None:
        return Page.of("")
    tick = moment.tick
    parts: list[Part] = []
    if tick.devices:
        heads = (say("busy"), say("memory"), say("power"), say("heat"), say("clock"))
        rows: list[tuple[Shown, ...]] = []
        tones: list[Tone] = []
        for device in moment.tick.devices:
            sentence, tone = words.state(device)
            pair = words.slowed_by(device)
            wrong: list[Shown] = [*words.troubles(device), *([pair[0]] if pair else [])]
            rows.append(
                (
                    device.card,
                    words.name(device),
                    words.share(device.busy_share),
                    words.memory(device.mem_used_bytes, device.mem_total_bytes),
                    words.power(device.power_w, device.power_limit_w),
                    words.celsius(device.gpu_c),
                    words.clock(device.sm_hz),
                    with_commas(wrong if wrong and tone == "good" else [sentence, *wrong]) or "",
                )
            )
            tones.append("plain" if tone == "good" else tone)
        parts.append(
            table(
                (*(say("card"), say("name")), *map(number, heads), prose(say("state"))),
                rows,
                tones=tones,
            )
        )
    else:
        parts.append(Line.dim(say("no GPU listed by a driver")))
    parts.append(Points.of(words.host(tick.host), title=say("host")))
    parts += [Line(text=given, tone=tone) for given, tone in map(words.event, moment.events)]
    parts += [Line.warn(note) for note in moment.notes]
    return Page.of(say("{host} at {time}", host=moment.host_name, time=clock(tick.at_s)), parts)


plain = telling.RecordPrinter(MachineMoment, endless="inf")
