"""Errors of the main memory, as its controllers count them (ECC).

A corrected error now and then is what ECC is for. Many in a short time tell of a module about to fail; an
uncorrected one has already given wrong data or ended a program. Without ECC none of this is seen: a
training run of weeks may take in a wrong bit unnoticed.

Fault: an uncorrected error since boot. Warning: more than 24 corrected a day. Note: a server's processor
without ECC modules. Source: Linux EDAC; threshold of corrected errors: mcelog's default of memory triggers
(10 or more in 24 hours a page) taken for the whole machine, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.doctor.wires import is_real

TITLE = say("errors of the main memory")
A_DAY = 24.0
DAY_S = 86_400.0
SEE = "grep -H . /sys/devices/system/edac/mc/mc*/[cu]e_count"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict, where the controllers count."""
    memory = case.machine.memory
    if not is_real(case) or (memory.corrected_errors is None and memory.uncorrected_errors is None):
        return
    days = max((case.machine.system.up_s or DAY_S) / DAY_S, 1.0)
    corrected, uncorrected = memory.corrected_errors or 0, memory.uncorrected_errors or 0
    if uncorrected:
        yield _finding(corrected, uncorrected, is_fault=True)
    elif corrected > A_DAY * days:
        yield _finding(corrected, uncorrected, is_fault=False)
    else:
        yield Fine(says=say("{corrected} corrected, none uncorrected since boot", corrected=corrected))


def _finding(corrected: int, uncorrected: int, *, is_fault: bool) -> Finding:
    hard = say("{count} uncorrected errors of the main memory since boot", count=uncorrected)
    soft = say("{count} corrected errors of the main memory since boot", count=corrected)
    return Finding(
        severity="fault" if is_fault else "warning",
        title=hard if is_fault else soft,
        evidence=seen(say("{soft} corrected, {hard} uncorrected", soft=corrected, hard=uncorrected), SEE),
        why=say("wrong data may be in results or on disk") if is_fault else say("a module is about to fail"),
        fix=(
            step(say("find the module"), "ras-mc-ctl --error-count"),
            step(say("seat it anew or replace it, then test the memory overnight"), disturbs=True),
        ),
    )
