"""Readings of one moment in few letters; a dash where nothing was read."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from rigright.base.page import Tone
from rigright.base.units import GIB, MEGA, show_bytes
from rigright.base.words import Sentence, say, with_commas
from rigright.facts.faults import slowdowns
from rigright.machine.system import Event
from rigright.machine.tick import DeviceTick, HostTick

NONE = "-"
HARM = {"warning", "fault"}  # how the doctor judges what should slow no card
_STATES: Mapping[str, Sentence] = {
    "ok": say("ok"),
    "lost": say("lost: unreachable for the driver"),
    "hung": say("hung: driver does not respond"),
    "no driver": say("no driver"),
    "denied": say("no permission"),
}


def state(name: str, age_s: float | None = None) -> tuple[Sentence | str, Tone]:
    """How a card is that was probed or watched; `age_s`: of its last response."""
    if name == "stale":
        return say("no response for {seconds} s", seconds=round(age_s or 0)), "warn"
    return _STATES.get(name, name), "good" if name == "ok" else "bad"


def name(device: DeviceTick) -> str:
    """What the card is called, without its maker's name before it."""
    text = device.name or NONE
    maker, _, rest = text.partition(" ")
    return rest if rest and maker.casefold() == (device.vendor or "nvidia") else text


def share(value: float | None) -> str:
    """Such as 98 %."""
    return NONE if value is None else f"{value * 100:.0f} %"


def memory(used: float | None, total: float | None) -> str:
    """Such as 61.2/79.6 GiB."""
    if used is None:
        return NONE
    return f"{used / GIB:.1f} GiB" if total is None else f"{used / GIB:.1f}/{total / GIB:.1f} GiB"


def power(draw_w: float | None, limit_w: float | None) -> str:
    """Such as 655/700 W."""
    if draw_w is None:
        return NONE
    return f"{draw_w:.0f} W" if limit_w is None else f"{draw_w:.0f}/{limit_w:.0f} W"


def celsius(value: float | None) -> str:
    """A temperature."""
    return NONE if value is None else f"{value:.0f} °C"


def clock(value: float | None) -> str:
    """Such as 1980 MHz."""
    return NONE if value is None else f"{value / MEGA:.0f} MHz"


def active(device: DeviceTick, what: str) -> float | None:
    """A share of what the whole card's parts did; None where the driver does not count it."""
    whole = next((activity for activity in device.activity or () if activity.gpu_instance is None), None)
    value: float | None = None if whole is None else getattr(whole, what)
    return value


def flow(value: float | None) -> str:
    """Such as 1.20 GiB/s."""
    return NONE if value is None else f"{show_bytes(value)}/s"


def reason(word: str) -> Sentence | str:
    """Why a card is held back, in a word or two."""
    return slowdowns()[word].short if word in slowdowns() else word


def slowed_by(device: DeviceTick) -> tuple[Sentence, Tone] | None:
    """Why it is below its full clock, where that is stated and is news."""
    listed, tone = _slowed(device, {"note", *HARM})
    return (say("throttled: {reasons}", reasons=listed), tone) if listed is not None else None


def hurt_by(device: DeviceTick) -> tuple[Sentence, Tone] | None:
    """What slows a card that should not be slow; the other reasons are how a card that works is held."""
    listed, tone = _slowed(device, HARM)
    return (listed, tone) if listed is not None else None


def _slowed(device: DeviceTick, judged: AbstractSet[str]) -> tuple[Sentence | None, Tone]:
    """The reasons that are judged so, and the tone of the worst."""
    known = [slowdowns()[word] for word in device.slowed_by or () if word in slowdowns()]
    listed = with_commas(slowdown.short for slowdown in known if slowdown.judged in judged)
    return listed, "bad" if any(slowdown.judged == "fault" for slowdown in known) else "warn"


def troubles(device: DeviceTick) -> list[Sentence]:
    """What else is wrong with a card."""
    sentences = []
    if device.ecc_uncorrected:
        sentences.append(say("{count} uncorrectable memory errors", count=device.ecc_uncorrected))
    if device.rows_failed:
        sentences.append(say("row remapping failed"))
    if device.rows_pending:
        sentences.append(say("row remapping is pending: reset the GPU"))
    if device.recovery not in {None, "none"}:
        sentences.append(say("driver requests: {action}", action=device.recovery))
    return sentences


def trouble(device: DeviceTick) -> tuple[Sentence | str, Tone] | None:
    """The worst that is wrong with a card, slowness apart; None where nothing is."""
    if device.state != "ok":
        return state(device.state, device.age_s)
    return next(((sentence, "bad") for sentence in troubles(device)), None)


def event(item: Event) -> tuple[Sentence | str, Tone]:
    """An event in a line."""
    if item.kind == "xid":
        where = item.pci or NONE
        return say("XID {code} on {where}: {text}", code=item.code, where=where, text=item.text), "bad"
    return f"{item.kind}: {item.text}", "warn"


def host(tick: HostTick) -> list[Sentence]:
    """The host in short pieces, the most important first."""
    sentences = [
        say("cpu {share}", share=share(tick.cpu_share)),
        say("memory {memory}", memory=memory(tick.mem_used_bytes, tick.mem_total_bytes)),
        say("busiest core {share}", share=share(tick.busiest_core_share)),
        say(
            "disk {read} in, {written} out",
            read=flow(tick.disk_read_bytes_per_s),
            written=flow(tick.disk_write_bytes_per_s),
        ),
        say(
            "net {received} in, {sent} out",
            received=flow(tick.net_rx_bytes_per_s),
            sent=flow(tick.net_tx_bytes_per_s),
        ),
    ]
    if tick.wait_share and tick.wait_share >= 0.01:
        sentences.append(say("I/O wait {share}", share=share(tick.wait_share)))
    if tick.swap_used_bytes:
        sentences.append(say("swap {size}", size=show_bytes(tick.swap_used_bytes)))
    if tick.mem_pressure and tick.mem_pressure >= 0.01:
        sentences.append(say("memory pressure {share}", share=share(tick.mem_pressure)))
    return sentences
