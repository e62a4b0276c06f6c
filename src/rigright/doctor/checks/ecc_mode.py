"""Whether error correction of memory is on where it should be, and whether a change waits for a reset.

Datacentre cards are sold with error correction on: without it a flipped bit goes unnoticed into a model.
With HBM it costs no memory; on GDDR cards it costs about 6 % of memory and some speed, so on workstation
cards it is a matter of choice and only worth knowing.

Off on a datacentre card: warning; on a workstation card: note. A mode that waits for the next reset: note.
Source: NVIDIA's GPU memory error management guide.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query, reset
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen
from rigright.facts.chips import Chip
from rigright.machine.device import Device

TITLE = say("error correction of memory")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that has it."""
    for device, chip in answering(case, vendor="nvidia"):
        if device.ecc is None or device.ecc.on is None:
            continue
        if device.ecc.on_after_reboot not in {None, device.ecc.on}:
            yield Finding(
                severity="note",
                title=say("error correction will be switched on at the next reset")
                if bool(device.ecc.on_after_reboot)
                else say("error correction will be switched off at the next reset"),
                evidence=seen(say("the mode now and the mode that waits differ"), _seen(device)),
                why=say(
                    "memory size and speed change with the next reset or reboot, maybe when nobody expects it"
                ),
                fix=(reset(device),),
                about=label(device),
            )
        elif not device.ecc.on and chip is not None and chip.ecc:
            yield _off(device, chip)
        else:
            yield Fine(
                says=say("on") if device.ecc.on else say("off, as is usual for it"), about=label(device)
            )


def _seen(device: Device) -> str | None:
    return query(device, "ecc.mode.current", "ecc.mode.pending")


def _off(device: Device, chip: Chip) -> Finding:
    must = chip.segment == "datacenter"
    return Finding(
        severity="warning" if must else "note",
        title=say("error correction of memory is off"),
        evidence=seen(say("{chip} has it, and it is off", chip=chip.name), _seen(device)),
        why=say(
            "a flipped bit goes unnoticed into weights and results; long training meets them sooner or later"
        ),
        fix=(
            as_root(say("switch it on; it counts from the next reset"), f"nvidia-smi -i {device.index} -e 1"),
            reset(device),
        ),
        about=label(device),
    )
