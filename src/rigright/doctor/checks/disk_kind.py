"""Kind of the disks that data and models lie on.

A disk with turning plates gives some 200 MB/s in a row and a hundred random reads a second: shuffled
training data starves a card on it, and a 70B model loads in ten minutes. SATA gives 0.5 GB/s; NVMe 3 to 14.

Warning: the largest file system of a machine with cards, or /data, /home or the like, lies on such a disk
and no solid-state disk is there; note: it does beside one, or the root lies on it. Source: guides 2 and 3
(SATA against NVMe), disks' data sheets.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("fast disks for data")
COLD = ("/backup", "/archive", "/mnt/backup", "/boot")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each file system on turning plates, else one for all."""
    disks = {disk.name: disk for disk in case.machine.disks or ()}
    mounts = [one for one in case.machine.mounts or () if one.disk in disks and not one.path.startswith(COLD)]
    if not case.machine.devices or not mounts:
        return
    slow = [one for one in mounts if disks[one.disk or ""].kind == "hdd"]
    fast = any(disk.kind in {"nvme", "ssd"} for disk in disks.values())
    for mount in slow:
        disk = disks[mount.disk or ""]
        yield Finding(
            severity="note" if fast else "warning",
            title=say("{path} lies on a disk with turning plates", path=mount.path),
            evidence=seen(
                say(
                    "{path} is on {disk} ({model})", path=mount.path, disk=disk.name, model=disk.model or "?"
                ),
                "lsblk -o NAME,ROTA,TRAN,MODEL,MOUNTPOINTS",
            ),
            why=say(
                "about 200 MB/s in a row and a hundred random reads a second: loaders starve the "
                "cards, models load for minutes"
            ),
            fix=(
                step(say("keep data and models that are in use on an NVMe disk, and archives here")),
                step(say("measure it"), "rigright bench disk"),
            ),
            verify="rigright bench disk",
            about=disk.name,
        )
    if not slow:
        kinds = sorted({disks[one.disk or ""].kind or "?" for one in mounts})
        yield Fine(says=say("data lies on: {kinds}", kinds=", ".join(kinds)))
