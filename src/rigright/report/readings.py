"""Readings of one moment in few letters: a dash where nothing was read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from rigright.base.page import Tone
from rigright.base.units import GIB, MEGA, show_bytes, show_seconds
from rigright.base.words import Sentence, say, with_commas
from rigright.facts.faults import slowdowns
from rigright.machine.system import Event
from rigright.machine.tick import DeviceTick, HostTick

NONE = "-"
HARM = {"warning", "fault"}  # how the doctor judges what should slow no card
Words = Sentence | str


def or_dash(show: Callable[[Any], str]) -> Callable[[object], str]:
    """The same of a reading that may be missing."""
    return lambda value: NONE if value is None else show(value)


share = or_dash(lambda value: f"{value * 100:.0f} %")
celsius = or_dash(lambda value: f"{value:.0f} °C")
clock_rate = or_dash(lambda value: f"{value / MEGA:.0f} MHz")
size = or_dash(show_bytes)
flow = or_dash(lambda value: f"{show_bytes(value)}/s")
duration = or_dash(show_seconds)
growth = or_dash(lambda value: f"+{value:,}")


def memory(used: float | None, total: float | None) -> str:
    """Such as 61.2/79.6 GiB."""
    whole = "" if total is None else f"/{total / GIB:.1f}"
    return NONE if used is None else f"{used / GIB:.1f}{whole} GiB"


def power(draw_w: float | None, limit_w: float | None) -> str:
    """Such as 655/700 W."""
    limit = "" if limit_w is None else f"/{limit_w:.0f}"
    return NONE if draw_w is None else f"{draw_w:.0f}{limit} W"


def clock(at_s: float) -> str:
    """The time of day here."""
    return time.strftime("%H:%M:%S", time.localtime(at_s))


def active(device: DeviceTick, what: str) -> float | None:
    """A share of what the whole card's parts did; None where the driver does not count it."""
    whole = next((activity for activity in device.activity or () if activity.gpu_instance is None), None)
    value: float | None = None if whole is None else getattr(whole, what)
    return value


def name(device: DeviceTick) -> str:
    """What the card is called, without its maker's name before it."""
    text = device.name or NONE
    maker, _, rest = text.partition(" ")
    return rest if rest and maker.casefold() == (device.vendor or "nvidia") else text


_STATES: Mapping[str, Sentence] = {
    "ok": say("ok"),
    "lost": say("lost: unreachable for the driver"),
    "hung": say("hung: driver does not respond"),
    "no driver": say("no driver"),
    "denied": say("no permission"),
}


def state(name: str, age_s: float | None = None) -> tuple[Words, Tone]:
    """How a card is that was probed or watched; `age_s`: of its last response."""
    if name == "stale":
        return say("no response for {seconds} s", seconds=round(age_s or 0)), "warn"
    return _STATES.get(name, name), "good" if name == "ok" else "bad"


def reason(word: str) -> Words:
    """Why a card is held back, in a word or two."""
    return slowdowns()[word].short if word in slowdowns() else word


def slowed_by(device: DeviceTick) -> tuple[Words, Tone] | None:
    """Why it is below its full clock, where that is stated and is news."""
    listed, tone = _slowed(device, {"note", *HARM})
    return (say("throttled: {reasons}", reasons=listed), tone) if listed else None


def hurt_by(device: DeviceTick) -> tuple[Words, Tone] | None:
    """What slows a card that should not be slow; the other reasons are how a card that works is held."""
    listed, tone = _slowed(device, HARM)
    return (listed, tone) if listed else None


def _slowed(device: DeviceTick, judged: AbstractSet[str]) -> tuple[Sentence | None, Tone]:
    """The reasons that are judged so, and the tone of the worst."""
    known = [slowdowns()[word] for word in device.slowed_by or () if word in slowdowns()]
    listed = with_commas(slowdown.short for slowdown in known if slowdown.judged in judged)
    return listed, "bad" if any(slowdown.judged == "fault" for slowdown in known) else "warn"


def troubles(device: DeviceTick) -> list[Sentence]:
    """What else is wrong with a card."""
    errors, action = device.ecc_uncorrected, device.recovery
    wrong = (
        (errors, say("{count} uncorrectable memory errors", count=errors)),
        (device.rows_failed, say("row remapping failed")),
        (device.rows_pending, say("row remapping is pending: reset the GPU")),
        (action not in {None, "none"}, say("driver requests: {action}", action=action)),
    )
    return [sentence for holds, sentence in wrong if holds]


def trouble(device: DeviceTick) -> tuple[Words, Tone] | None:
    """The worst that is wrong with a card, slowness apart; None where nothing is."""
    if device.state != "ok":
        return state(device.state, device.age_s)
    return next(((sentence, "bad") for sentence in troubles(device)), None)


def event(item: Event) -> tuple[Words, Tone]:
    """An event in a line."""
    if item.kind == "xid":
        where = item.pci or NONE
        return say("XID {code} on {where}: {text}", code=item.code, where=where, text=item.text), "bad"
    return f"{item.kind}: {item.text}", "warn"


def host(tick: HostTick) -> list[Sentence]:
    """The host in short pieces, the most important first."""
    disk = flow(tick.disk_read_bytes_per_s), flow(tick.disk_write_bytes_per_s)
    net = flow(tick.net_rx_bytes_per_s), flow(tick.net_tx_bytes_per_s)
    pieces = [
        say("cpu {share}", share=share(tick.cpu_share)),
        say("memory {memory}", memory=memory(tick.mem_used_bytes, tick.mem_total_bytes)),
        say("busiest core {share}", share=share(tick.busiest_core_share)),
        say("disk {read} in, {written} out", read=disk[0], written=disk[1]),
        say("net {received} in, {sent} out", received=net[0], sent=net[1]),
    ]
    if (tick.wait_share or 0) >= 0.01:
        pieces.append(say("I/O wait {share}", share=share(tick.wait_share)))
    if tick.swap_used_bytes:
        pieces.append(say("swap {size}", size=show_bytes(tick.swap_used_bytes)))
    if (tick.mem_pressure or 0) >= 0.01:
        pieces.append(say("memory pressure {share}", share=share(tick.mem_pressure)))
    return pieces
