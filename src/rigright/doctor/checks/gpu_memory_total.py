"""Whether a card has all the memory its chip is sold with.

Channels that failed are switched off, and the card goes on with less (XID 160, 168). The driver's total
lies a little below what is printed on the box, up to 6 % where GDDR keeps its error correction in the same
memory: less than 90 % is a warning. Sister cards of the same name are compared by another check.

Source: data/chips.csv (memory as drivers report it).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_bytes
from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query, reset
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen, step
from rigright.facts.chips import Chip
from rigright.machine.device import Device

TITLE = say("memory of a card is complete")
LEAST_SHARE = 0.90


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card whose chip is known."""
    for device, chip in answering(case):
        if chip is None or chip.unified_memory or device.unified_memory:
            continue
        if device.mem_total_bytes is None:
            yield NotSeen(
                why=say("the driver does not tell it"), see=query(device, "memory.total"), about=label(device)
            )
            continue
        sizes = [chip.mem_bytes / chip.devices, *chip.mem_options_bytes]
        if device.mem_total_bytes < LEAST_SHARE * min(sizes):
            yield _less(device, chip, total_bytes=device.mem_total_bytes)
        else:
            yield Fine(says=say("{text}", text=show_bytes(device.mem_total_bytes)), about=label(device))


def _less(device: Device, chip: Chip, *, total_bytes: float) -> Finding:
    return Finding(
        severity="warning",
        title=say("the card has less memory than its chip"),
        evidence=seen(
            say(
                "{here} of {there}",
                here=show_bytes(total_bytes),
                there=show_bytes(chip.mem_bytes / chip.devices),
            ),
            query(device, "memory.total"),
        ),
        why=say(
            "a plan for {chip} will run out of memory here; memory that was switched off is the usual cause",
            chip=chip.name,
        ),
        fix=(
            step(say("look for XID 160 and 168"), "journalctl -k --no-pager | grep -i 'NVRM: Xid'"),
            reset(device),
            step(say("if it stays so, have the card replaced")),
        ),
        confidence="likely",
        about=label(device),
    )
