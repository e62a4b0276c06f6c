"""Errors of the links: packets sent again, and errors the bus could not mend.

A healthy link sends hardly a packet again. NVIDIA's own monitor allows, a minute and lane, 0.15 replays at
generation 1, 0.30, 0.48, 0.96, 1.92, and 3.84 at generation 6; more is a link about to fail or to drop
lanes. Errors that were not corrected are told at any number: a fatal one ends the link.

Fault: a fatal error since boot. Warning: an uncorrected error, or corrected ones faster than that rate
since boot. Source: NVIDIA DCGM, PCIe replay thresholds (dcgm_pcie health rule); Linux AER statistics.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import label
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.doctor.wires import functions, is_real
from rigright.machine.host import PciDevice

TITLE = say("errors on the links")
REPLAYS_A_MINUTE_AND_LANE = {1: 0.15, 2: 0.30, 3: 0.48, 4: 0.96, 5: 1.92, 6: 3.84}
LEAST_MINUTES = 10.0  # since boot: before, training the links counts too


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each link that has errors, else one for all."""
    if not is_real(case):
        return
    names = {device.pci: label(device) for device in case.machine.devices if device.pci}
    replays = {device.pci: device.pcie.replays for device in case.machine.devices if device.pci}
    bad, looked = [], 0
    for one in functions(case).values():
        counts = dict(one.errors)
        resent = max(counts.get("correctable", 0), replays.get(one.address) or 0)
        if not counts and replays.get(one.address) is None:
            continue
        looked += 1
        judged = _judged(one, counts=counts, resent=resent, minutes=(case.machine.system.up_s or 0.0) / 60)
        if judged is not None:
            bad.append(_finding(one, judged=judged, about=names.get(one.address, one.address)))
    yield from bad
    if looked and not bad:
        yield Fine(says=say("no errors of weight; links: {count}", count=looked))


def _judged(
    one: PciDevice, *, counts: dict[str, int], resent: int, minutes: float
) -> tuple[Severity, Sentence] | None:
    if counts.get("fatal"):
        return "fault", say("{count} fatal errors on the link since boot", count=counts["fatal"])
    if counts.get("nonfatal"):
        return "warning", say("{count} uncorrected errors on the link since boot", count=counts["nonfatal"])
    allowed = REPLAYS_A_MINUTE_AND_LANE.get(one.gen_max or 0)
    if allowed is None or minutes < LEAST_MINUTES:
        return None
    most = math.ceil(allowed * (one.lanes_max or 1)) * minutes
    return (
        ("warning", say("{count} packets sent again on the link since boot", count=resent))
        if resent > most
        else None
    )


def _finding(one: PciDevice, *, judged: tuple[Severity, Sentence], about: str) -> Finding:
    severity, title = judged
    command = f"grep -H TOTAL /sys/bus/pci/devices/{shlex.quote(one.address)}/aer_dev_*"
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(
            say(
                "counters of {at}: {counts}",
                at=one.address,
                counts=", ".join(f"{n} {c}" for n, c in one.errors),
            ),
            command,
        ),
        why=say("a link that errs loses rate, then lanes, and in the end the card falls off the bus"),
        fix=(
            step(
                say("read which function errs, and how"), "journalctl -k --no-pager | grep -iE 'aer|pcieport'"
            ),
            step(
                say("switch the machine off, clean the contacts, seat the card anew, leave risers away"),
                disturbs=True,
            ),
            step(
                say("if it goes on, set the slot one generation lower: slower, but without errors"),
                disturbs=True,
            ),
        ),
        about=about,
    )
