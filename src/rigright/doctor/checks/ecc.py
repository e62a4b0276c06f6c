"""ECC errors and ECC mode."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, details, kinds, unread
from rigright.doctor.record import CheckInput, Fine, Severity, Verdict, check
from rigright.facts.faults import corrected_errors

_LEAST_ODD, _ODD_TIMES = 1_000, 100


@check(say("corrected ECC errors"))
def ecc_corrected(case: CheckInput) -> Iterator[Verdict]:
    """Corrected ECC errors, where the count is very high.

    Single errors are normal: operators tolerate millions (Azure's health checks 20,000,000 in DRAM and 10,000
    in SRAM, gcm 50,000,000). The rate matters, and the gap to the other GPUs: one with a thousand times more
    is wearing out.

    Warning: 20,000,000 or more since the last reset. Note: 1,000 or more, and 100 times the median of
    identical GPUs. XID 92 reports the same from the driver's side. Source: azurehpc-health-checks, gcm.
    """
    for devices in kinds(case):
        counted = [
            (item, item.ecc.corrected_volatile)
            for item in devices
            if item.ecc is not None and item.ecc.corrected_volatile is not None
        ]
        median = statistics.median(count for _, count in counted) if counted else 0.0
        for device, count in counted:
            if count >= corrected_errors():
                yield advise("ecc.many", device=device, count=f"{count:,}", most=f"{corrected_errors():,}")
            elif len(counted) > 2 and count >= max(_LEAST_ODD, _ODD_TIMES * median):
                yield advise("ecc.odd", device=device, count=f"{count:,}", median=f"{median:,.0f}")
            else:
                yield Fine(says=say("{count} since the last reset", count=count), about=label(device))


@check(say("ECC mode"))
def ecc_mode(case: CheckInput) -> Iterator[Verdict]:
    """Whether ECC is on where it should be, and whether a change is pending.

    Data-center GPUs ship with ECC on: without it a bit flip silently corrupts a model. With HBM it costs no
    memory; with GDDR about 6 % of memory and some speed, so on workstation GPUs it is a choice.

    Off on a data-center GPU: warning; on a workstation GPU: note. Change pending until the next reset: note.
    Source: NVIDIA's GPU memory error management guide.
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
            says = say("on") if device.ecc.on else say("off (default for this GPU)")
            yield Fine(says=says, about=label(device))


@check(say("SRAM ECC errors"))
def ecc_sram(case: CheckInput) -> Iterator[Verdict]:
    """SRAM ECC errors: in caches and registers, which have no spare rows.

    GPUs since Ampere count uncorrectable SRAM errors separately, and the driver raises a flag at NVIDIA's RMA
    threshold. Over the threshold: fault. Above zero: note.

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


@check(say("uncorrectable ECC errors"))
def ecc_uncorrected(case: CheckInput) -> Iterator[Verdict]:
    """Uncorrectable ECC errors.

    An uncorrectable error means that a program read corrupt data: the driver kills it (XID 48, 94, 95).
    Errors since the last reset are a fault. Lifetime errors with none since the reset are a note, because the
    bad rows have been remapped. AMD counts separately what no program has read yet (deferred): warning.

    Threshold: more than 0. GPUs without ECC, such as GeForce, report nothing and are skipped. Sources: gpud
    and gcm (uncorrected 0), NVIDIA's GPU memory error management guide. Cards without error correction, as
    GeForce, tell nothing, and nothing is said of them.
    """
    for device, _ in answering(case):
        ecc = device.ecc
        if ecc is None or ecc.on is False:
            continue
        now, ever = ecc.uncorrected_volatile, ecc.uncorrected_aggregate
        if now is None and ever is None:
            yield unread(device, details(device, "ECC"))
        elif now:
            fields = {"count": now, "ever": "?" if ever is None else ever}
            yield advise("ecc.uncorrected", fields, device=device, amd=device.vendor == "amd")
        elif ecc.deferred_volatile:
            yield advise("ecc.deferred", device=device, count=ecc.deferred_volatile)
        elif ever:
            yield advise("ecc.past", device=device, count=ever)
        else:
            yield Fine(says=say("none"), about=label(device))
