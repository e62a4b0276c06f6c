"""Readings of one moment in few letters; a dash where nothing was read."""

from __future__ import annotations

from rigright.base.page import Tone
from rigright.base.units import GIB, MEGA, show_bytes
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.system import Event
from rigright.machine.tick import DeviceTick, HostTick

NONE = "-"
STATES: dict[str, tuple[Sentence, Tone]] = {
    "ok": (say("ok"), "good"),
    "lost": (say("lost: unreachable for the driver"), "bad"),
    "hung": (say("hung: driver does not respond"), "bad"),
    "stale": (say("no response for {seconds} s", seconds=0), "warn"),
}
_REASONS = {
    "app_clocks": say("application clocks"),
    "sw_power_cap": say("power limit"),
    "hw_slowdown": say("hardware slowdown"),
    "sync_boost": say("sync boost"),
    "sw_thermal": say("heat"),
    "hw_thermal": say("overheated"),
    "hw_power_brake": say("power supply"),
    "display_clock": say("screen"),
    "board_limit": say("board limit"),
    "reliability": say("voltage limit"),
}
GRAVE = {"hw_slowdown", "hw_thermal", "hw_power_brake"}
HURTS = GRAVE | {"sw_thermal", "board_limit"}  # the other reasons are how a card that works is held


def state(device: DeviceTick) -> tuple[Sentence | str, Tone]:
    """How the card is, for people."""
    if device.state == "stale":
        return say("no response for {seconds} s", seconds=round(device.age_s or 0)), "warn"
    return STATES.get(device.state, (device.state, "bad"))


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


def slowed_by(device: DeviceTick) -> tuple[Sentence, Tone] | None:
    """Why it is below its full clock, where that is stated and is news."""
    sentences = [_REASONS[text] for text in device.slowed_by or () if text in _REASONS]
    if not sentences:
        return None
    tone: Tone = "bad" if GRAVE & set(device.slowed_by or ()) else "warn"
    return say("throttled: {reasons}", reasons=with_commas(sentences) or ""), tone


def reason(word: str) -> Sentence | str:
    """Why a card is held back, for people."""
    return _REASONS.get(word, word)


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
        return state(device)
    return next(((sentence, "bad") for sentence in troubles(device)), None)


def hurt_by(device: DeviceTick) -> tuple[Sentence, Tone] | None:
    """What slows a card that should not be slow."""
    sentences = [_REASONS[text] for text in device.slowed_by or () if text in HURTS]
    tone: Tone = "bad" if GRAVE & set(device.slowed_by or ()) else "warn"
    return (with_commas(sentences) or say("{text}", text=""), tone) if sentences else None


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
