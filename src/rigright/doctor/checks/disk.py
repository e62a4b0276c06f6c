"""Disks and file systems: space, health, links, how they are mounted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import GIB, MEGA, show_bytes
from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.wires import Wire, functions, is_real, wires_up
from rigright.machine.host import Disk, Mount

FULL, LOW = 0.01, 0.05
FULL_BYTES, LOW_BYTES = GIB, 50 * GIB
SMALL_BYTES = 4 * GIB  # /boot and its like
WITHOUT_SPACE = {"tmpfs", "vfat", "9p", "virtiofs"}
WORN, SPARE, HOT_C = 0.9, 0.1, 75.0
SECTORS = ("reallocated", "pending", "unreadable")
COLD = ("/backup", "/archive", "/mnt/backup", "/boot")
SATA_FULL = 550 * MEGA
ON_DISK = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"}
WRITTEN = ("/home", "/data", "/var", "/srv", "/scratch", "/mnt", "/opt")


@check(say("space on file systems"))
def disk_space(case: Case) -> Iterator[Verdict]:
    """Space left on file systems.

    A full file system ends a run at its next checkpoint, and a full root keeps services and log-ins from
    working. Models and checkpoints are large: a 70B model in bf16 takes 141 GB, its training state eight
    times that.

    Fault: less than 1 % or 1 GiB left of one that is written to. Warning: less than 5 % and less than 50
    GiB. Read-only ones are left out. Source: thresholds of node_exporter's standard alerts, lowered for
    large disks.
    """
    looked, bad = 0, 0
    for mount in case.machine.mounts or ():
        path, size, free = mount.path, mount.size_bytes, mount.free_bytes
        if mount.kind in WITHOUT_SPACE or "ro" in mount.options:
            continue
        if not size or free is None:
            see = f"df -h {shlex.quote(path)}"
            yield NotSeen(why=say("it did not tell its space in time"), see=see, about=path)
            continue
        looked += 1
        share = free / size
        full = share < FULL or (free < FULL_BYTES and size > SMALL_BYTES)
        if full or (share < LOW and free < LOW_BYTES):
            bad += 1
            severity: Severity = "fault" if full else "warning"
            seen = {"path": path, "free": show_bytes(free), "size": show_bytes(size)}
            yield advise("disk.space", seen, about=path, severity=severity)
    if looked and not bad:
        yield Fine(says=say("each has room; file systems: {count}", count=looked))


@check(say("files that file systems can still hold"))
def disk_files(case: Case) -> Iterator[Verdict]:
    """Files left on file systems (inodes).

    A file system can be full of files while it has space: data sets of millions of small images do that.
    Writing then fails with "no space left", and df shows room.

    Fault: less than 1 % left; warning: less than 5 %. File systems that make inodes as they go (btrfs, many
    network ones) tell none. Source: node_exporter's standard alerts.
    """
    told = [
        one
        for one in case.machine.mounts or ()
        if one.files_free_share is not None and "ro" not in one.options
    ]
    short = [one for one in told if (one.files_free_share or 0.0) < LOW]
    for mount in short:
        share = mount.files_free_share or 0.0
        severity: Severity = "fault" if share < FULL else "warning"
        yield advise("disk.files", about=mount.path, severity=severity, path=mount.path, share=f"{share:.1%}")
    if told and not short:
        yield Fine(says=say("each has room; file systems: {count}", count=len(told)))


@check(say("disks say they are well"))
def disk_health(case: Case) -> Iterator[Verdict]:
    """What disks say of their own health (SMART), and arrays of their members.

    A disk that warns is about to fail: checkpoints on it are at risk. Worn flash turns read-only at its end.
    An array that lacks a member has lost its safety, or half of it.

    Fault: the disk reports a failure, or an array lacks a member. Warning: worn 90 % or more, spare blocks
    below 10 %, reallocated, pending or unreadable sectors or media errors, or hotter than 75 C. Source: NVM
    Express base specification (SMART log); smartmontools; Backblaze's drive statistics (attributes 5, 197,
    198).
    """
    closed = next((one for one in case.machine.unseen if one.what == "disks.health"), None)
    for disk in case.machine.disks or ():
        finding = _failing(disk)
        if finding is not None:
            yield finding
        elif disk.worn_share is not None or disk.temperature_c is not None:
            yield Fine(says=say("well"), about=disk.name)
    if closed is not None:
        yield NotSeen(why=closed.why, see=closed.see)


def _failing(disk: Disk) -> Finding | None:
    """What is wrong with a disk: the worst alone."""
    name, heat_c = disk.name, disk.temperature_c
    sectors = "; ".join(word for word in disk.warnings if word.startswith(SECTORS))
    others = "; ".join(word for word in disk.warnings if not word.startswith(SECTORS))
    if sectors or others:
        severity: Severity = "fault" if others else "warning"
        is_array = disk.kind == "array"
        return advise(
            "disk.array" if is_array else "disk.reports",
            about=name,
            severity=severity,
            disk=name,
            what=others or sectors,
        )
    if disk.media_errors:
        return advise("disk.medium", about=name, disk=name, count=disk.media_errors)
    if disk.worn_share is not None and disk.worn_share >= WORN:
        return advise("disk.worn", about=name, disk=name, share=f"{disk.worn_share:.0%}")
    if disk.spare_share is not None and disk.spare_share < SPARE:
        return advise("disk.spare", about=name, disk=name, share=f"{disk.spare_share:.0%}")
    if heat_c is not None and heat_c > HOT_C:
        return advise("disk.hot", about=name, disk=name, heat=f"{heat_c:.0f}")
    return None


@check(say("fast disks for data"))
def disk_kind(case: Case) -> Iterator[Verdict]:
    """Kind of the disks that data and models lie on.

    A disk with turning plates gives some 200 MB/s in a row and a hundred random reads a second: shuffled
    training data starves a card on it, and a 70B model loads in ten minutes. SATA gives 0.5 GB/s; NVMe 3 to
    14.

    Warning: the largest file system of a machine with cards, or /data, /home or the like, lies on such a
    disk and no solid-state disk is there; note: it does beside one, or the root lies on it. Source: guides 2
    and 3 (SATA against NVMe), disks' data sheets.
    """
    disks = {disk.name: disk for disk in case.machine.disks or ()}
    mounts = [one for one in case.machine.mounts or () if one.disk in disks and not one.path.startswith(COLD)]
    if not case.machine.devices or not mounts:
        return
    slow = [one for one in mounts if disks[one.disk or ""].kind == "hdd"]
    fast = any(disk.kind in {"nvme", "ssd"} for disk in disks.values())
    for mount in slow:
        disk = disks[mount.disk or ""]
        seen = {"path": mount.path, "disk": disk.name, "model": disk.model or "?"}
        yield advise("disk.kind", seen, about=disk.name, severity="note" if fast else "warning")
    if not slow:
        kinds = sorted({disks[one.disk or ""].kind or "?" for one in mounts})
        yield Fine(says=say("data lies on: {kinds}", kinds=", ".join(kinds)))


@check(say("links of the disks"))
def disk_link(case: Case) -> Iterator[Verdict]:
    """Links of the disks: lanes and generation of NVMe, speed of SATA.

    An NVMe disk in a slot of fewer lanes or of an older generation gives that share of its rate, and so does
    one behind a chipset port that is shared. A SATA link that fell to 3 or 1.5 Gb/s tells of a cable.

    Warning: fewer lanes or a lower generation than disk and port both have; or SATA below 6 Gb/s. Note: the
    port has less than the disk. NVMe links rest like others: a lower generation alone is likely, not sure.
    Source: NVM Express and PCI Express specifications; SATA-IO.
    """
    if not is_real(case):
        return
    known = functions(case)
    for disk in case.machine.disks or ():
        if disk.kind == "nvme" and disk.lanes and disk.lanes_max:
            one = known.get(disk.pci or "")
            wires = wires_up(case, one) if one is not None else ()
            yield _link_of(disk, wires[-1] if wires else None)
        elif disk.sata_bytes_per_s is not None and disk.sata_bytes_per_s < SATA_FULL:
            yield advise("disk.sata", about=disk.name, rate=f"{disk.sata_bytes_per_s / MEGA:.0f}")


def _link_of(disk: Disk, wire: Wire | None) -> Verdict:
    """Against what disk and port both have, then against the disk's own."""
    lanes, lanes_max = disk.lanes or 0, disk.lanes_max or 0
    lanes_most = wire.lanes_most if wire is not None and wire.lanes_most else lanes_max
    gen_most = wire.gen_most if wire is not None and wire.gen_most else disk.gen_max or 0
    link = say(
        "{lanes} of {lanes_max} lanes, generation {gen} of {gen_max}",
        lanes=lanes,
        lanes_max=lanes_max,
        gen=disk.gen or "?",
        gen_max=disk.gen_max or "?",
    )
    seen = {"link": link, "pci": disk.pci or "?"}
    if lanes < lanes_most:
        return advise("disk.link", seen, about=disk.name)
    if disk.gen is not None and disk.gen < gen_most:
        return advise("disk.link", seen, about=disk.name, confidence="likely")
    if lanes < lanes_max or (disk.gen is not None and disk.gen_max is not None and disk.gen < disk.gen_max):
        return advise("disk.slot", seen, about=disk.name)
    return Fine(says=link, about=disk.name)


@check(say("how file systems are mounted"))
def disk_mount(case: Case) -> Iterator[Verdict]:
    """How file systems are mounted.

    A disk file system that became read-only mostly did so after an error: the kernel protects what is left.
    `sync` makes each write wait for the disk. Soft network mounts give up with an error in the middle of a
    file, and data read over a slow network share starves loaders.

    Fault: an ordinary disk file system is read-only because of errors (root, /home, /data, /var...).
    Warning: sync; a soft NFS mount. Source: mount(8), nfs(5).
    """
    found = [finding for mount in case.machine.mounts or () for finding in _mounted_badly(mount)]
    yield from found
    if case.machine.mounts and not found:
        yield Fine(says=say("mounted well; file systems: {count}", count=len(case.machine.mounts)))


def _mounted_badly(mount: Mount) -> Iterator[Finding]:
    path, options, on_disk = mount.path, set(mount.options), mount.kind in ON_DISK
    seen = {"path": path, "options": ",".join(mount.options)}
    if on_disk and "ro" in options and (path == "/" or path.startswith(WRITTEN)):
        yield advise("disk.read_only", seen, about=path)
    if on_disk and "sync" in options:
        yield advise("disk.sync", seen, about=path)
    if mount.kind.startswith("nfs") and "soft" in options:
        yield advise("disk.soft", seen, about=path)
