"""How a card is, in a word or two, worst first."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.page import Shown, Tone
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.device import Device
from rigright.report.live.words import reason

_HARMLESS = frozenset({"idle", "app_clocks", "sync_boost", "display_clocks"})
_GONE = {
    "lost": say("lost: fell off the bus"),
    "hung": say("hung: driver does not respond"),
    "no driver": say("no driver"),
    "denied": say("no permission"),
}


def state_of(device: Device) -> tuple[Shown, Tone]:
    """What a person must know of it first."""
    if device.state != "ok":
        return _GONE.get(device.state, device.state), "bad"
    worst = [*_broken(device)]
    if worst:
        return worst[0], "bad"
    slowed = [word for word in device.slowed_by or () if word not in _HARMLESS]
    if slowed:
        return say("throttled: {reasons}", reasons=with_commas(map(reason, slowed))), "warn"
    if device.mig or device.slices:
        count = len(device.slices)
        sentence = say("MIG, {count} instances", count=count) if device.mig else None
        return sentence or say("partitions: {count}", count=count), "plain"
    used = len(device.programs or ())
    if used:
        return say("{count} processes", count=used), "plain"
    return say("idle") if device.busy_share == 0 else "ok", "plain"


def _broken(device: Device) -> Iterator[Sentence]:
    if device.recovery not in {None, "none"}:
        yield say("needs: {what}", what=device.recovery)
    if device.retired is not None and device.retired.rows_failed:
        yield say("row remapping failed")
    if device.retired is not None and (device.retired.rows_pending or device.retired.pages_pending):
        yield say("needs: {what}", what="gpu reset")
    if device.retired is not None and device.retired.pages_stuck:
        yield say("bad memory pages still in use: {count}", count=device.retired.pages_stuck)
    if device.ecc is not None and device.ecc.uncorrected_volatile:
        yield say("uncorrectable memory errors: {count}", count=device.ecc.uncorrected_volatile)
