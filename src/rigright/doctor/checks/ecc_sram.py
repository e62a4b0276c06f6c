"""Errors in a card's own caches (SRAM), which cannot be repaired by spare rows.

Cards since Ampere count uncorrected errors of SRAM apart, and the driver raises a flag once they reach the
limit at which NVIDIA replaces the card. Over the limit: fault. Below it but not zero: worth knowing.

Source: NVML's SRAM error status (nvidia-ml-py 13.615), NVIDIA's RMA policy for GPU memory errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, details, label
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, seen, step
from rigright.machine.device import Device, Ecc

TITLE = say("errors in the caches of a card")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that counts them."""
    for device, _ in answering(case):
        ecc = device.ecc
        if ecc is None or (ecc.sram_over_threshold is None and ecc.sram_uncorrected_aggregate is None):
            continue
        if ecc.sram_over_threshold:
            yield _over(device, ecc)
        elif ecc.sram_uncorrected_aggregate:
            yield _some(device, ecc)
        else:
            yield Fine(says=say("none"), about=label(device))


def _seen(device: Device, ecc: Ecc) -> tuple[Evidence, ...]:
    count = ecc.sram_uncorrected_aggregate
    shows = say("{count} uncorrected errors of SRAM ever", count="?" if count is None else count)
    return seen(shows, details(device, "ECC"))


def _over(device: Device, ecc: Ecc) -> Finding:
    return Finding(
        severity="fault",
        title=say("uncorrected errors in its caches exceed the limit"),
        evidence=_seen(device, ecc),
        why=say("caches have no spare rows: wrong data will be read again, whatever is reset"),
        fix=(
            step(say("drain the machine: let what runs end, and let no new work start here")),
            step(say("run the vendor's field diagnosis, and have the card replaced")),
        ),
        verify=details(device, "ECC"),
        about=label(device),
    )


def _some(device: Device, ecc: Ecc) -> Finding:
    return Finding(
        severity="note",
        title=say("uncorrected errors in its caches, below the limit"),
        evidence=_seen(device, ecc),
        why=say("each of them ended a program; a rising number leads to a replacement"),
        fix=(step(say("write the number down, and look again in a week")),),
        verify=details(device, "ECC"),
        about=label(device),
    )
