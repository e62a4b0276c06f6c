"""Disks and file systems: space, health, links, mount options."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import GIB, MEGA, show_bytes
from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.record import CheckInput, Finding, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.wires import PcieWire, functions, is_real, wires_up
from rigright.machine.host import Disk, Mount

FULL, _LOW = 0.01, 0.05
_FULL_BYTES, _LOW_BYTES = GIB, 50 * GIB
SMALL_BYTES = 4 * GIB  # /boot and its like
_WITHOUT_SPACE = {"tmpfs", "vfat", "9p", "virtiofs"}
_WORN, SPARE, _HOT_C = 0.9, 0.1, 75.0
_SECTORS = ("reallocated", "pending", "unreadable")
_COLD = ("/backup", "/archive", "/mnt/backup", "/boot")
_SATA_FULL = 550 * MEGA
_ON_DISK = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"}
WRITTEN = ("/home", "/data", "/var", "/srv", "/scratch", "/mnt", "/opt")


@check(say("free disk space"))
def disk_space(case: CheckInput) -> Iterator[Verdict]:
    """Free space on file systems.

    A full file system ends a job at its next checkpoint, and a full root blocks services and logins. Models
    and checkpoints are large: a 70B model in bf16 takes 141 GB, its training state eight times that.

    Fault: less than 1 % or 1 GiB free on a writable file system. Warning: less than 5 % and less than 50 GiB.
    Read-only ones are skipped. Source: thresholds of node_exporter's standard alerts, lowered for large
    disks.
    """
    looked, bad = 0, 0
    for mount in case.machine.mounts or ():
        path, size, free = mount.path, mount.size_bytes, mount.free_bytes
        if mount.kind in _WITHOUT_SPACE or "ro" in mount.options:
            continue
        if not size or free is None:
            see = f"df -h {shlex.quote(path)}"
            yield NotSeen(why=say("the file system did not respond in time"), see=see, about=path)
            continue
        looked += 1
        share = free / size
        full = share < FULL or (free < _FULL_BYTES and size > SMALL_BYTES)
        if full or (share < _LOW and free < _LOW_BYTES):
            bad += 1
            severity: Severity = "fault" if full else "warning"
            seen = {"path": path, "free": show_bytes(free), "size": show_bytes(size)}
            yield advise("disk.space", seen, about=path, severity=severity)
    if looked and not bad:
        yield Fine(says=say("enough left; file systems: {count}", count=looked))


@check(say("free inodes"))
def disk_files(case: CheckInput) -> Iterator[Verdict]:
    """Free inodes on file systems.

    Data sets of millions of small images use up inodes while space is left. Writes then fail with "No space
    left on device", and df shows room.

    Fault: less than 1 % left; warning: less than 5 %. File systems that allocate inodes on demand (btrfs,
    many network ones) report none. Source: node_exporter's standard alerts.
    """
    mounts = [
        item
        for item in case.machine.mounts or ()
        if item.files_free_share is not None and "ro" not in item.options
    ]
    short = [item for item in mounts if (item.files_free_share or 0.0) < _LOW]
    for mount in short:
        share = mount.files_free_share or 0.0
        severity: Severity = "fault" if share < FULL else "warning"
        yield advise("disk.files", about=mount.path, severity=severity, path=mount.path, share=f"{share:.1%}")
    if mounts and not short:
        yield Fine(says=say("enough left; file systems: {count}", count=len(mounts)))


@check(say("disk health (SMART, RAID)"))
def disk_health(case: CheckInput) -> Iterator[Verdict]:
    """Disk health (SMART) and RAID state.

    A disk that reports errors is about to fail, with the checkpoints on it. Worn-out flash becomes read-only.
    A degraded array has lost its redundancy.

    Fault: the disk reports a failure, or an array lacks a member. Warning: 90 % or more of its endurance
    used, spare blocks below 10 %, reallocated, pending or unreadable sectors or media errors, or hotter than
    75 °C. Source: NVM Express base specification (SMART log); smartmontools; Backblaze's drive statistics
    (attributes 5, 197, 198).
    """
    closed = case.gap("disks.health")
    for disk in case.machine.disks or ():
        finding = _failing(disk)
        if finding is not None:
            yield finding
        elif disk.worn_share is not None or disk.temperature_c is not None:
            yield Fine(says=say("ok"), about=disk.name)
    if closed is not None:
        yield closed


def _failing(disk: Disk) -> Finding | None:
    """What is wrong with a disk: the worst alone."""
    name, heat_c = disk.name, disk.temperature_c
    sectors = "; ".join(word for word in disk.warnings if word.startswith(_SECTORS))
    others = "; ".join(word for word in disk.warnings if not word.startswith(_SECTORS))
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
    if disk.worn_share is not None and disk.worn_share >= _WORN:
        return advise("disk.worn", about=name, disk=name, share=f"{disk.worn_share:.0%}")
    if disk.spare_share is not None and disk.spare_share < SPARE:
        return advise("disk.spare", about=name, disk=name, share=f"{disk.spare_share:.0%}")
    if heat_c is not None and heat_c > _HOT_C:
        return advise("disk.hot", about=name, disk=name, heat=f"{heat_c:.0f}")
    return None


@check(say("storage type of data and models"))
def disk_kind(case: CheckInput) -> Iterator[Verdict]:
    """Whether data and models are on a hard disk.

    A hard disk reads about 200 MB/s sequentially and a hundred random blocks a second: shuffled training data
    starves a GPU, and a 70B model takes ten minutes to load. SATA SSDs reach 0.5 GB/s, NVMe 3 to 14.

    Warning: the largest file system of a machine with GPUs, or /data, /home or the like, is on a hard disk
    and there is no SSD; note: there is one, or the root is on the hard disk. Source: guides 2 and 3 (SATA
    against NVMe), disks' data sheets.
    """
    disks = {disk.name: disk for disk in case.machine.disks or ()}
    mounts = [
        item for item in case.machine.mounts or () if item.disk in disks and not item.path.startswith(_COLD)
    ]
    if not case.machine.devices or not mounts:
        return
    slow = [item for item in mounts if disks[item.disk or ""].kind == "hdd"]
    fast = any(disk.kind in {"nvme", "ssd"} for disk in disks.values())
    for mount in slow:
        disk = disks[mount.disk or ""]
        seen = {"path": mount.path, "disk": disk.name, "model": disk.model or "?"}
        yield advise("disk.kind", seen, about=disk.name, severity="note" if fast else "warning")
    if not slow:
        kinds = sorted({disks[item.disk or ""].kind or "?" for item in mounts})
        yield Fine(says=say("data is on: {kinds}", kinds=", ".join(kinds)))


@check(say("disk link speed"))
def disk_link(case: CheckInput) -> Iterator[Verdict]:
    """Disk links: PCIe width and generation of NVMe, SATA speed.

    An NVMe drive in a slot with fewer lanes or an older generation loses that share of its rate; so does one
    behind a shared chipset port. A SATA link that falls to 3 or 1.5 Gb/s points to the cable.

    Warning: fewer lanes or a lower generation than both drive and port support; or SATA below 6 Gb/s. Note:
    the port is slower than the drive. NVMe links slow down when idle: a lower generation alone is likely, not
    sure. Source: NVM Express and PCI Express specifications; SATA-IO.
    """
    if not is_real(case):
        return
    known = functions(case)
    for disk in case.machine.disks or ():
        if disk.kind == "nvme" and disk.lanes and disk.lanes_max:
            device = known.get(disk.pci or "")
            wires = wires_up(case, device) if device is not None else ()
            yield _link_of(disk, wires[-1] if wires else None)
        elif disk.sata_bytes_per_s is not None and disk.sata_bytes_per_s < _SATA_FULL:
            yield advise("disk.sata", about=disk.name, rate=f"{disk.sata_bytes_per_s / MEGA:.0f}")


def _link_of(disk: Disk, wire: PcieWire | None) -> Verdict:
    """Against what disk and port both have, then against the disk's own."""
    lanes, lanes_max = disk.lanes or 0, disk.lanes_max or 0
    lanes_most = wire.lanes_most if wire is not None and wire.lanes_most else lanes_max
    gen_most = wire.gen_most if wire is not None and wire.gen_most else disk.gen_max or 0
    link = say(
        "PCIe Gen{gen} x{lanes}, expected Gen{gen_max} x{lanes_max}",
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


@check(say("mount options"))
def disk_mount(case: CheckInput) -> Iterator[Verdict]:
    """Mount options of file systems.

    The kernel remounts a file system read-only after errors, to protect what is left. `sync` makes every
    write wait for the disk. Soft NFS mounts return an error in the middle of a file when the server is slow.

    Fault: an ordinary disk file system is read-only (root, /home, /data, /var...). Warning: sync; a soft NFS
    mount. Source: mount(8), nfs(5).
    """
    findings = [finding for mount in case.machine.mounts or () for finding in _mounted_badly(mount)]
    yield from findings
    if case.machine.mounts and not findings:
        yield Fine(says=say("no problem; file systems: {count}", count=len(case.machine.mounts)))


def _mounted_badly(mount: Mount) -> Iterator[Finding]:
    path, options, on_disk = mount.path, set(mount.options), mount.kind in _ON_DISK
    seen = {"path": path, "options": ",".join(mount.options)}
    if on_disk and "ro" in options and (path == "/" or path.startswith(WRITTEN)):
        yield advise("disk.read_only", seen, about=path)
    if on_disk and "sync" in options:
        yield advise("disk.sync", seen, about=path)
    if mount.kind.startswith("nfs") and "soft" in options:
        yield advise("disk.soft", seen, about=path)
