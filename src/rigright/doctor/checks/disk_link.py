"""Links of the disks: lanes and generation of NVMe, speed of SATA.

An NVMe disk in a slot of fewer lanes or of an older generation gives that share of its rate, and so does
one behind a chipset port that is shared. A SATA link that fell to 3 or 1.5 Gb/s tells of a cable.

Warning: fewer lanes or a lower generation than disk and port both have; or SATA below 6 Gb/s. Note: the
port has less than the disk. NVMe links rest like others: a lower generation alone is likely, not sure.
Source: NVM Express and PCI Express specifications; SATA-IO.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import MEGA
from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Confidence, Finding, Fine, Severity, Verdict, seen, step
from rigright.doctor.wires import Wire, functions, is_real, wires_up
from rigright.machine.host import Disk

TITLE = say("links of the disks")
SATA_FULL = 550 * MEGA


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a disk that has a link."""
    if not is_real(case):
        return
    known = functions(case)
    for disk in case.machine.disks or ():
        if disk.kind == "nvme" and disk.lanes and disk.lanes_max:
            one = known.get(disk.pci or "")
            wires = wires_up(case, one) if one is not None else ()
            yield _nvme(disk, wires[-1] if wires else None)
        elif disk.sata_bytes_per_s is not None and disk.sata_bytes_per_s < SATA_FULL:
            rate = (disk.sata_bytes_per_s or 0.0) / MEGA
            yield Finding(
                severity="warning",
                title=say("the disk's SATA link runs at {rate} MB/s", rate=f"{rate:.0f}"),
                evidence=seen(
                    say("{rate} MB/s of 600", rate=f"{rate:.0f}"),
                    "journalctl -k --no-pager | grep 'SATA link up'",
                ),
                why=say("loading models and data runs at the link's rate"),
                fix=(step(say("replace the cable, or take another port"), disturbs=True),),
                confidence="likely",
                about=disk.name,
            )


def _nvme(disk: Disk, wire: Wire | None) -> Verdict:
    lanes, lanes_max = disk.lanes or 0, disk.lanes_max or 0
    lanes_most = wire.lanes_most if wire is not None and wire.lanes_most else lanes_max
    gen_most = wire.gen_most if wire is not None and wire.gen_most else disk.gen_max or 0
    title = say(
        "{lanes} of {lanes_max} lanes, generation {gen} of {gen_max}",
        lanes=lanes,
        lanes_max=lanes_max,
        gen=disk.gen or "?",
        gen_max=disk.gen_max or "?",
    )
    if lanes < lanes_most:
        return _finding(disk, title, severity="warning", confidence="sure")
    if disk.gen is not None and disk.gen < gen_most:
        return _finding(disk, title, severity="warning", confidence="likely")
    if lanes < lanes_max or (disk.gen is not None and disk.gen_max is not None and disk.gen < disk.gen_max):
        return _finding(disk, title, severity="note", confidence="sure")
    return Fine(says=title, about=disk.name)


def _finding(disk: Disk, link: Sentence, *, severity: Severity, confidence: Confidence) -> Finding:
    command = f"sudo lspci -vv -s {shlex.quote(disk.pci or '?')} | grep -E 'LnkCap:|LnkSta:'"
    seat = step(say("seat the disk anew, or try another slot"), disturbs=True)
    move = step(
        say("move it to a slot with as many lanes and the generation of the disk: the board's manual tells"),
        disturbs=True,
    )
    return Finding(
        severity=severity,
        title=say("the disk's link runs below what it could: {link}", link=link)
        if severity == "warning"
        else say("the disk is in a slot below it: {link}", link=link),
        evidence=seen(link, command),
        why=say("loading models and data runs at the link's rate"),
        fix=(seat,) if severity == "warning" else (move,),
        confidence=confidence,
        about=disk.name,
    )
