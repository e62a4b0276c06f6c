"""Whether programs may use a card: its compute mode.

Prohibited: no program can start on it (fault). Exclusive: one process at a time, the second is turned away
with an error that speaks of busy devices (note; a warning where a plan of one process a card does not hold,
as with several servers on a card).

Source: NVML's compute modes; CUDA error 46 (devices unavailable).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen
from rigright.machine.device import Device

TITLE = say("programs may use a card")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card."""
    for device, _ in answering(case, vendor="nvidia"):
        mode = (device.compute_mode or "").lower().replace("_", " ")
        if "prohibited" in mode or "exclusive" in mode:
            yield _held(device, prohibited="prohibited" in mode)
        elif mode:
            yield Fine(says=say("any program may"), about=label(device))


def _held(device: Device, *, prohibited: bool) -> Finding:
    return Finding(
        severity="fault" if prohibited else "note",
        title=say("no program may use the card")
        if prohibited
        else say("one process at a time may use the card"),
        evidence=seen(
            say("compute mode: {mode}", mode=device.compute_mode or ""), query(device, "compute_mode")
        ),
        why=say('CUDA programs fail with "all CUDA-capable devices are busy or unavailable"')
        if prohibited
        else say(
            'a second program on it fails with "devices are busy or unavailable", though memory is free'
        ),
        fix=(as_root(say("let any program use it"), f"nvidia-smi -i {device.index} -c DEFAULT"),),
        about=label(device),
    )
