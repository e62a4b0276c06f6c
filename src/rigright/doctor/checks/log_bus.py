"""Errors of the bus that the kernel wrote down (AER), and accesses that the IOMMU refused.

Corrected errors are sent again and cost time; uncorrected ones lose data or the card. The counters since
boot have a check of their own (pcie_errors); the log also holds what was before the last boot.

An IOMMU refuses what no mapping allows: copies straight between cards are lost where it does not pass
them through, and programs hang or get wrong data.

Uncorrected: warning, fatal: fault. Corrected: from 100 of one device, note. Refused accesses of a card:
warning. Longer ago than a week or before the last boot: one step less. Sources: Linux PCI Express AER
documentation; NVIDIA's NCCL guide on peer-to-peer copies and the IOMMU.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import device_at
from rigright.doctor.happened import events
from rigright.doctor.log_lines import by_place, finding, none_told, unseen
from rigright.doctor.record import Case, Verdict, step

TITLE = say("the log holds no errors of the bus")
_MANY = 100
_WORDS = "AER|PCIe Bus Error"
_BAD = ("uncorrect", "recoverable", "recover (", "recovery failed")


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each device of the bus and kind of error."""
    told = [one for one in (unseen(case, _WORDS), none_told(case, "aer")) if one is not None]
    if case.machine.devices:
        yield from told
    why = say(
        "packets are lost or sent again: the card is slower, may drop to fewer lanes, or fall off the bus"
    )
    fix = (
        step(say("reseat card and riser, or try another slot or a shorter riser")),
        step(say("hold the slot to a lower generation in the firmware, and see whether they stop")),
    )
    for same in by_place(events(case, "aer") or []).values():
        fatal = [one for one in same if "fatal" in one.text.lower() and "non-fatal" not in one.text.lower()]
        bad = [one for one in same if any(word in one.text.lower() for word in _BAD)]
        errors = [one for one in same if "severity" in one.text] or same  # two lines tell of one error
        if fatal:
            title = say("fatal errors of the bus")
            yield finding(case, fatal, title=title, why=why, fix=fix, severity="fault")
        elif bad:
            title = say("uncorrected errors of the bus")
            yield finding(case, bad, title=title, why=why, fix=fix, severity="warning")
        elif len(errors) >= _MANY:
            title = say("many corrected errors of the bus")
            yield finding(case, errors, title=title, why=why, fix=fix, severity="note")
    yield from _refused(case)


def _refused(case: Case) -> Iterator[Verdict]:
    """Of cards alone: firmware of other devices sets off a few at each boot."""
    for pci, same in by_place(events(case, "iommu") or []).items():
        if device_at(case, pci) is not None:
            yield finding(
                case,
                same,
                title=say("the IOMMU refused accesses of a card"),
                why=say("copies straight between cards are lost: programs hang, or compute with wrong data"),
                fix=(
                    step(
                        say(
                            "on bare metal, let the IOMMU pass through: iommu=pt on the kernel's command "
                            "line, or switch it off in the firmware"
                        )
                    ),
                    step(say("see whether it stops without such copies: NCCL_P2P_DISABLE=1")),
                ),
                severity="warning",
            )
