"""What disks say of their own health (SMART), and arrays of their members.

A disk that warns is about to fail: checkpoints on it are at risk. Worn flash turns read-only at its end. An
array that lacks a member has lost its safety, or half of it.

Fault: the disk reports a failure, or an array lacks a member. Warning: worn 90 % or more, spare blocks
below 10 %, reallocated, pending or unreadable sectors or media errors, or hotter than 75 C. Source: NVM
Express base specification (SMART log); smartmontools; Backblaze's drive statistics (attributes 5, 197,
198).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, seen, step
from rigright.machine.host import Disk

TITLE = say("disks say they are well")
WORN, SPARE, HOT_C = 0.9, 0.1, 75.0
_SECTORS = ("reallocated", "pending", "unreadable")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a disk that tells."""
    closed = next((one for one in case.machine.unseen if one.what == "disks.health"), None)
    for disk in case.machine.disks or ():
        judged = _judged(disk)
        if judged is not None:
            severity, title = judged
            is_array = disk.kind == "array"
            command = (
                f"cat /proc/mdstat; mdadm --detail /dev/{shlex.quote(disk.name)}"
                if is_array
                else f"sudo smartctl -a /dev/{shlex.quote(disk.name)}"
            )
            copy = step(say("copy what matters elsewhere now, then replace it"), disturbs=True)
            cool = step(say("give it air or a heat sink"), disturbs=True)
            hot = severity == "warning" and not disk.warnings and (disk.temperature_c or 0.0) > HOT_C
            yield Finding(
                severity=severity,
                title=title,
                evidence=seen(title, command),
                why=say("when it fails, data and checkpoints on it are lost")
                if not hot
                else say("a hot disk slows itself down, and ages"),
                fix=(cool,) if hot else (copy,),
                about=disk.name,
            )
        elif disk.worn_share is not None or disk.temperature_c is not None:
            yield Fine(says=say("well"), about=disk.name)
    if closed is not None:
        yield NotSeen(why=closed.why, see=closed.see)


def _judged(disk: Disk) -> tuple[Severity, Sentence] | None:
    sectors = [word for word in disk.warnings if word.startswith(_SECTORS)]
    others = [word for word in disk.warnings if word not in sectors]
    if others:
        return "fault", say("it reports: {what}", what="; ".join(others))
    if sectors:
        return "warning", say("it reports: {what}", what="; ".join(sectors))
    if disk.media_errors:
        return "warning", say("{count} errors of the medium", count=disk.media_errors)
    if disk.worn_share is not None and disk.worn_share >= WORN:
        return "warning", say("{share} of its life is used", share=f"{disk.worn_share:.0%}")
    if disk.spare_share is not None and disk.spare_share < SPARE:
        return "warning", say("{share} of its spare blocks are left", share=f"{disk.spare_share:.0%}")
    hot = disk.temperature_c is not None and disk.temperature_c > HOT_C
    return ("warning", say("it is {heat} C hot", heat=f"{disk.temperature_c:.0f}")) if hot else None
