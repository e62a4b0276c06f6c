"""Line 1 of a live view: what is wrong now, on which cards and since when, and how the others are."""

from __future__ import annotations

from collections.abc import Mapping

from rigright.base.page import Tone
from rigright.base.units import show_seconds, show_watts
from rigright.base.words import Sentence, say, with_commas, with_semicolons
from rigright.doctor.record import Finding
from rigright.machine.tick import DeviceTick
from rigright.report.live import words
from rigright.report.live.programs import cards_of
from rigright.report.live.recent import Recent
from rigright.verbs.watch.watched import MachineMoment

_TONES: Mapping[str, Tone] = {"fault": "bad", "warning": "warn"}
_LEAST_S = 5.0  # that something lasts, before it is told since when


def verdict(recent: Recent, moment: MachineMoment) -> tuple[Sentence, Tone]:
    """The answer, and its tone; "good" only where every reading that tells of trouble was there."""
    devices, tick = moment.tick.devices, moment.tick
    if not devices and tick.on_bus:
        return say("{count} GPUs on the PCI bus, but no driver lists them", count=tick.on_bus), "bad"
    ill = _ill(recent, moment)
    if ill is not None:
        return ill
    causes = None if moment.detail is None else moment.detail.causes
    found = next((one.finding for one in causes or () if one.finding.severity != "note"), None)
    doctor = None if found is None else say("doctor: {finding}", finding=_told(found))
    if not devices:
        return doctor or say("no GPU listed by a driver"), _TONES[found.severity] if found else "dim"
    count, loads = len(devices), _loads(devices)
    if found is None and _sees(devices):
        return say("{count} GPUs fine: {loads}", count=count, loads=loads), "good"
    state = say("{count} GPUs: {loads}", count=count, loads=loads)
    unknown = None if _sees(devices) else say("slowdowns are not reported")
    parts = (doctor, state) if found and found.severity == "fault" else (state, doctor or unknown)
    return with_semicolons(parts) or state, _TONES[found.severity] if found else "plain"


def _told(finding: Finding) -> Sentence:
    """What was found, and on what."""
    if finding.about is None:
        return finding.title
    return say("{about}: {title}", about=finding.about, title=finding.title)


def _loads(devices: tuple[DeviceTick, ...]) -> Sentence | None:
    """How all cards are at work: busy, power, heat."""
    busy = [one.busy_share for one in devices if one.busy_share is not None]
    watts = [one.power_w for one in devices if one.power_w is not None]
    heat = max((one.gpu_c for one in devices if one.gpu_c is not None), default=None)
    share = words.share(sum(busy) / len(busy)) if busy else words.NONE
    hottest: Sentence | str | None = None if heat is None else words.celsius(heat)
    if heat is not None and len(devices) > 1:
        hottest = say("hottest {heat}", heat=words.celsius(heat))
    return with_commas((say("{share} busy", share=share), show_watts(sum(watts)) if watts else None, hottest))


def _ill(recent: Recent, moment: MachineMoment) -> tuple[Sentence, Tone] | None:
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
            parts.append(say("{cards} throttled for {time}: {reasons}", cards=cards, time=time, reasons=said))
        elif is_slow:
            parts.append(say("{cards} throttled: {reasons}", cards=cards, reasons=said))
        else:
            parts.append(say("{cards}: {trouble}", cards=cards, trouble=said))
    rest = sum(len(members) for _, members in ordered[2:])
    if rest:
        parts.append(say("{count} more GPUs with problems", count=rest))
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
