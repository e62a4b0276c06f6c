"""Errors of a card's memory: those that error correction mends, those it cannot, and whether it is on."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, details, kinds, unread
from rigright.doctor.record import Case, Fine, Severity, Verdict, check

MOST = 20_000_000
LEAST_ODD, ODD_TIMES = 1_000, 100


@check(say("corrected memory errors"))
def ecc_corrected(case: Case) -> Iterator[Verdict]:
    """Memory errors that error correction mends, where they are very many.

    Single errors are normal: operators tolerate millions (Azure's health checks 20,000,000 of memory and
    10,000 of SRAM, gcm 50,000,000). What tells is the rate, and the difference to the other cards: a card
    that has a thousand times more than the others is wearing out.

    Warning: 20,000,000 or more since the last reset. Note: 1,000 or more, and 100 times the median of the
    cards of the same kind. XID 92 says the same from the driver's side. Source: azurehpc-health-checks, gcm.
    """
    for devices in kinds(case):
        counted = [
            (one, one.ecc.corrected_volatile)
            for one in devices
            if one.ecc is not None and one.ecc.corrected_volatile is not None
        ]
        median = statistics.median(count for _, count in counted) if counted else 0.0
        for device, count in counted:
            if count >= MOST:
                yield advise("ecc.many", device=device, count=f"{count:,}", most=f"{MOST:,}")
            elif len(counted) > 2 and count >= max(LEAST_ODD, ODD_TIMES * median):
                yield advise("ecc.odd", device=device, count=f"{count:,}", median=f"{median:,.0f}")
            else:
                yield Fine(says=say("{count} since the last reset", count=count), about=label(device))


@check(say("error correction of memory"))
def ecc_mode(case: Case) -> Iterator[Verdict]:
    """Whether error correction of memory is on where it should be, and whether a change waits for a reset.

    Datacentre cards are sold with error correction on: without it a flipped bit goes unnoticed into a model.
    With HBM it costs no memory; on GDDR cards it costs about 6 % of memory and some speed, so on workstation
    cards it is a matter of choice and only worth knowing.

    Off on a datacentre card: warning; on a workstation card: note. A mode that waits for the next reset:
    note. Source: NVIDIA's GPU memory error management guide.
    """
    for device, chip in answering(case, vendor="nvidia"):
        if device.ecc is None or device.ecc.on is None:
            continue
        if device.ecc.on_after_reboot not in {None, device.ecc.on}:
            yield advise("ecc.waits_on" if device.ecc.on_after_reboot else "ecc.waits_off", device=device)
        elif not device.ecc.on and chip is not None and chip.ecc:
            severity: Severity = "warning" if chip.segment == "datacenter" else "note"
            yield advise("ecc.off", device=device, severity=severity, chip=chip.name)
        else:
            says = say("on") if device.ecc.on else say("off, as is usual for it")
            yield Fine(says=says, about=label(device))


@check(say("errors in the caches of a card"))
def ecc_sram(case: Case) -> Iterator[Verdict]:
    """Errors in a card's own caches (SRAM), which cannot be repaired by spare rows.

    Cards since Ampere count uncorrected errors of SRAM apart, and the driver raises a flag once they reach
    the limit at which NVIDIA replaces the card. Over the limit: fault. Below it but not zero: worth knowing.

    Source: NVML's SRAM error status (nvidia-ml-py 13.615), NVIDIA's RMA policy for GPU memory errors.
    """
    for device, _ in answering(case):
        ecc = device.ecc
        if ecc is None or (ecc.sram_over_threshold is None and ecc.sram_uncorrected_aggregate is None):
            continue
        count = ecc.sram_uncorrected_aggregate
        if ecc.sram_over_threshold or count:
            name = "ecc.sram_over" if ecc.sram_over_threshold else "ecc.sram_some"
            yield advise(name, device=device, count="?" if count is None else count)
        else:
            yield Fine(says=say("none"), about=label(device))


@check(say("uncorrected memory errors"))
def ecc_uncorrected(case: Case) -> Iterator[Verdict]:
    """Memory errors that error correction could not mend.

    An uncorrected error means that a program read wrong data: the driver ends it (XID 48, 94, 95). Errors
    since the last reset are a fault; errors of the card's whole life with none since the reset are worth
    knowing, for the rows they struck have been taken out of use. AMD counts apart what was found wrong
    before anybody read it (deferred): warning.

    Thresholds: more than 0. Sources: gpud and gcm (uncorrected 0), NVIDIA's GPU memory error management
    guide. Cards without error correction, as GeForce, tell nothing, and nothing is said of them.
    """
    for device, _ in answering(case):
        ecc = device.ecc
        if ecc is None or ecc.on is False:
            continue
        now, ever = ecc.uncorrected_volatile, ecc.uncorrected_aggregate
        if now is None and ever is None:
            yield unread(device, details(device, "ECC"))
        elif now:
            told = {"count": now, "ever": "?" if ever is None else ever}
            yield advise("ecc.uncorrected", told, device=device, amd=device.vendor == "amd")
        elif ecc.deferred_volatile:
            yield advise("ecc.deferred", device=device, count=ecc.deferred_volatile)
        elif ever:
            yield advise("ecc.past", device=device, count=ever)
        else:
            yield Fine(says=say("none"), about=label(device))
