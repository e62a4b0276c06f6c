"""The page of `watch --once`: the machine at one moment."""

from __future__ import annotations

from collections.abc import Iterable

from rigright.base import telling
from rigright.base.page import Line, Page, Points, Shown, Table, number, prose, records
from rigright.base.words import say, with_commas
from rigright.machine.tick import DeviceTick
from rigright.report.live import words
from rigright.report.live.recent import clock
from rigright.verbs.watch.watched import MachineMoment


def page(moment: MachineMoment | None) -> Page:
    """The page for people."""
    if moment is None:
        return Page.of("")
    tick = moment.tick
    return Page.of(
        say("{host} at {time}", host=moment.host_name, time=clock(tick.at_s)),
        _cards(tick.devices) if tick.devices else Line.dim(say("no GPU listed by a driver")),
        Points.of(words.host(tick.host), title=say("host")),
        (Line(text=text, tone=tone) for text, tone in map(words.event, moment.events)),
        map(Line.warn, moment.notes),
    )


def _cards(devices: Iterable[DeviceTick]) -> Table:
    return records(
        devices,
        (
            (say("card"), lambda device: device.card),
            (say("name"), words.name),
            (number(say("busy")), lambda device: words.share(device.busy_share)),
            (number(say("memory")), lambda card: words.memory(card.mem_used_bytes, card.mem_total_bytes)),
            (number(say("power")), lambda device: words.power(device.power_w, device.power_limit_w)),
            (number(say("heat")), lambda device: words.celsius(device.gpu_c)),
            (number(say("clock")), lambda device: words.clock(device.sm_hz)),
            (prose(say("state")), _state),
        ),
        tone=lambda device: "plain" if words.state(device)[1] == "good" else words.state(device)[1],
    )


def _state(device: DeviceTick) -> Shown:
    """What is wrong with a card and what slows it; of one that is well no more than that."""
    sentence, tone = words.state(device)
    slowed = words.slowed_by(device)
    wrong: list[Shown] = [*words.troubles(device), *([slowed[0]] if slowed else [])]
    return with_commas(wrong if wrong and tone == "good" else [sentence, *wrong]) or ""


plain = telling.RecordPrinter(MachineMoment, endless="inf")
