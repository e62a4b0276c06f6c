"""Line 1 of a live view: what is wrong now, on which cards and since when, and how the others are."""

from __future__ import annotations

from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say, with_semicolons
from rigright.machine.tick import DeviceTick
from rigright.report.live import words
from rigright.report.live.programs import cards_of
from rigright.report.live.recent import Recent
from rigright.report.page import Tone
from rigright.report.watched import Moment

_LEAST_S = 5.0  # that something lasts, before it is told since when


def verdict(recent: Recent, moment: Moment) -> tuple[Sentence, Tone]:
    """The answer, and its tone; "good" only where every reading that tells of trouble was there."""
    devices, tick = moment.tick.devices, moment.tick
    if not devices and tick.on_bus:
        return say("{count} cards are on the bus, and no driver shows them", count=tick.on_bus), "bad"
    ill = _ill(recent, moment)
    if ill is not None:
        return ill
    causes = None if moment.detail is None else moment.detail.causes
    found = next((one.finding for one in causes or () if one.finding.severity != "note"), None)
    if found is not None:
        tone: Tone = "bad" if found.severity == "fault" else "warn"
        return say("the doctor found: {title}", title=found.title), tone
    if not devices:
        return say("no accelerator that a driver shows"), "dim"
    busy = [one.busy_share for one in devices if one.busy_share is not None]
    heat = max((one.gpu_c for one in devices if one.gpu_c is not None), default=None)
    if _sees(devices):
        state = say("{count} cards fine", count=len(devices))
    else:
        state = say("{count} cards seen; slowdowns are not reported", count=len(devices))
    share = words.share(sum(busy) / len(busy)) if busy else words.NONE
    told = say("{state}; {share} busy, hottest {heat}", state=state, share=share, heat=words.celsius(heat))
    return told, "good" if _sees(devices) else "plain"


def _ill(recent: Recent, moment: Moment) -> tuple[Sentence, Tone] | None:
    """Cards in trouble, those with the same together, the gravest first; and how many are not."""
    devices = moment.tick.devices
    groups: dict[tuple[str, Tone, bool], list[tuple[Sentence | str, DeviceTick]]] = {}
    for device in devices:
        wrong = words.trouble(device)
        told = wrong or words.hurt_by(device)
        if told is not None:
            groups.setdefault((str(told[0]), told[1], wrong is None), []).append((told[0], device))
    if not groups:
        return None
    ordered = sorted(groups.items(), key=lambda one: one[0][1] != "bad")
    parts: list[Sentence] = []
    for (_, _, is_slow), members in ordered[:2]:
        said, ones = members[0][0], [device for _, device in members]
        cards = cards_of(device.card for device in ones)
        lasts_s = _lasts_s(ones, recent, now_s=moment.tick.at_s) if is_slow else 0.0
        if lasts_s >= _LEAST_S:
            time = show_seconds(lasts_s)
            parts.append(say("{cards} held back for {time}: {reasons}", cards=cards, time=time, reasons=said))
        elif is_slow:
            parts.append(say("{cards} held back: {reasons}", cards=cards, reasons=said))
        else:
            parts.append(say("{cards}: {trouble}", cards=cards, trouble=said))
    rest = sum(len(members) for _, members in ordered[2:])
    if rest:
        parts.append(say("{count} more cards in trouble", count=rest))
    others = len(devices) - sum(map(len, groups.values()))
    if others and _sees(devices):
        parts.append(say("other {count} fine", count=others))
    return with_semicolons(parts) or say("{text}", text=""), ordered[0][0][1]


def _sees(devices: tuple[DeviceTick, ...]) -> bool:
    """Whether every card that answers says what slows it, so that nothing wrong means fine."""
    return all(one.slowed_by is not None for one in devices if one.state == "ok")


def _lasts_s(ones: list[DeviceTick], recent: Recent, *, now_s: float) -> float:
    """How long the first of these cards has been slowed."""
    since = [
        recent.slowed_s[key]
        for device in ones
        for reason in device.slowed_by or ()
        if reason in words.HURTS and (key := (device.card, reason)) in recent.slowed_s
    ]
    return now_s - min(since, default=now_s)
