"""Errors in a card's own caches (SRAM), which cannot be repaired by spare rows.

Cards since Ampere count uncorrected errors of SRAM apart, and the driver raises a flag once they reach the
limit at which NVIDIA replaces the card. Over the limit: fault. Below it but not zero: worth knowing.

Source: NVML's SRAM error status (nvidia-ml-py 13.615), NVIDIA's RMA policy for GPU memory errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import DRAIN, LOOK_AGAIN, REPLACE, answering, details, label
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen

TITLE = say("errors in the caches of a card")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that counts them."""
    for device, _ in answering(case):
        ecc = device.ecc
        if ecc is None or (ecc.sram_over_threshold is None and ecc.sram_uncorrected_aggregate is None):
            continue
        if ecc.sram_over_threshold or ecc.sram_uncorrected_aggregate:
            count, over = ecc.sram_uncorrected_aggregate, bool(ecc.sram_over_threshold)
            shows = say("{count} uncorrected errors of SRAM ever", count="?" if count is None else count)
            yield Finding(
                severity="fault" if over else "note",
                title=say("uncorrected errors in its caches exceed the limit")
                if over
                else say("uncorrected errors in its caches, below the limit"),
                evidence=seen(shows, details(device, "ECC")),
                why=say("caches have no spare rows: wrong data will be read again, whatever is reset")
                if over
                else say("each of them ended a program; a rising number leads to a replacement"),
                fix=(DRAIN, REPLACE) if over else (LOOK_AGAIN,),
                about=label(device),
            )
        else:
            yield Fine(says=say("none"), about=label(device))
