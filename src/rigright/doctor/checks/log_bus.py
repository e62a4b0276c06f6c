"""Errors of the bus that the kernel wrote down (AER), those not corrected first.

Corrected errors are sent again and cost time; uncorrected ones lose data or the card. The counters since
boot have a check of their own (pcie_errors); the log also holds what was before the last boot.

Uncorrected: warning, fatal: fault. Corrected: from 100 lines of one device, note. Longer ago than a week
or before the last boot: one step less. Source: Linux PCI Express AER documentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.happened import events
from rigright.doctor.log_lines import by_place, finding, none_told, unseen
from rigright.doctor.record import Case, Verdict, step

TITLE = say("the log holds no errors of the bus")
_MANY = 100
_WORDS = "AER|PCIe Bus Error"


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
        bad = [one for one in same if "uncorrect" in one.text.lower()]
        if fatal:
            title = say("fatal errors of the bus")
            yield finding(case, fatal, title=title, why=why, fix=fix, severity="fault")
        elif bad:
            title = say("uncorrected errors of the bus")
            yield finding(case, bad, title=title, why=why, fix=fix, severity="warning")
        elif len(same) >= _MANY:
            title = say("many corrected errors of the bus")
            yield finding(case, same, title=title, why=why, fix=fix, severity="note")
