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
    finding = next((cause.finding for cause in causes or () if cause.finding.severity != "note"), None)
    doctor = None if finding is None else say("doctor: {finding}", finding=_finding_words(finding))
    if not devices:
        return doctor or say("no GPU listed by a driver"), _TONES[finding.severity] if finding else "dim"
    count, loads = len(devices), _loads(devices)
    if finding is None and _sees(devices):
        return say("{count} GPUs fine: {loads}", count=count, loads=loads), "good"
    state = say("{count} GPUs: {loads}", count=count, loads=loads)
    unknown = None if _sees(devices) else say("slowdowns are not reported")
    parts = (doctor, state) if finding and finding.severity == "fault" else (state, doctor or unknown)
    return with_semicolons(parts) or state, _TONES[finding.severity] if finding else "plain"


def _finding_words(finding: Finding) -> Sentence:
    """What was found, and on what."""
    if finding.about is None:
        return finding.title
    return say("{about}: {title}", about=finding.about, title=finding.title)


def _loads(devices: tuple[DeviceTick, ...]) -> Sentence | None:
    """How all cards are at work: busy, power, heat."""
    busy = [tick.busy_share for tick in devices if tick.busy_share is not None]
    watts = [tick.power_w for tick in devices if tick.power_w is not None]
    heat = max((tick.gpu_c for tick in devices if tick.gpu_c is not None), default=None)
    share = words.share(sum(busy) / len(busy)) if busy else words.NONE
    hottest: Sentence | str | None = None if heat is None else words.celsius(heat)
    if heat is not None and len(devices) > 1:
        hottest = say("hottest {heat}", heat=words.celsius(heat))
    return with_commas((say("{share} busy", share=share), show_watts(sum(watts)) if watts else None, hottest))


def _ill(recent: Recent, moment: MachineMoment) -> tuple[Sentence, Tone] | None:
    """Cards in trouble, those with the same together, the gravest first; and how many are not."""
    groups: dict[Sentence | str, list[DeviceTick]] = {}
    tones: dict[Sentence | str, Tone] = {}
    for device in moment.tick.devices:
        wrong = words.trouble(device) or words.hurt_by(device)
        if wrong is not None:
            groups.setdefault(wrong[0], []).append(device)
            tones[wrong[0]] = wrong[1]
    if not groups:
        return None
    ordered = sorted(groups, key=lambda trouble: tones[trouble] != "bad")
    parts = [_sick(trouble, groups[trouble], recent=recent) for trouble in ordered[:2]]
    rest = sum(len(groups[trouble]) for trouble in ordered[2:])
    if rest:
        parts.append(say("{count} more GPUs with problems", count=rest))
    others = len(moment.tick.devices) - sum(map(len, groups.values()))
    if others and _sees(moment.tick.devices):
        parts.append(say("other {count} fine", count=others))
    return with_semicolons(parts) or say("{text}", text=""), tones[ordered[0]]


def _sick(trouble: Sentence | str, devices: list[DeviceTick], *, recent: Recent) -> Sentence:
    """Cards with the same trouble, and how long the first of them has been slowed."""
    cards = cards_of(device.card for device in devices)
    if words.trouble(devices[0]) is not None:
        return say("{cards}: {trouble}", cards=cards, trouble=trouble)
    lasts_s = max(recent.slowed_for(device, reason) for device in devices for reason in words.HURTS)
    if lasts_s < _LEAST_S:
        return say("{cards} throttled: {reasons}", cards=cards, reasons=trouble)
    time = show_seconds(lasts_s)
    return say("{cards} throttled for {time}: {reasons}", cards=cards, time=time, reasons=trouble)


def _sees(devices: tuple[DeviceTick, ...]) -> bool:
    """Whether every card that answers says what slows it, so that nothing wrong means fine."""
    return all(tick.slowed_by is not None for tick in devices if tick.state == "ok")
