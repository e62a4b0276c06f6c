"""Disks, how they hang on the machine and how they feel; and the file systems on them."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Any

from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.machine.at_once import at_once
from rigright.machine.cells import chosen, real, whole_of, word_of
from rigright.machine.disk_health import health_of
from rigright.machine.host import Disk
from rigright.machine.mounts import mounts_of
from rigright.machine.pci.link import gen_of, lanes_of
from rigright.machine.pci.sysfs import FOLDER as BUS
from rigright.machine.pci.sysfs import address_above
from rigright.machine.record import Read, Unseen
from rigright.machine.world import World

FOLDER = "/sys/block"
SECTOR_BYTES = 512  # the kernel counts in these whatever the disk's own are
SATA_CODING = 0.8  # 8 of 10 bits on the wire are data
_BITS = 8
_MOST = 512
_ASKED_AT_ONCE = 8
_PASSED = ("loop", "ram", "zram", "sr", "fd", "nbd", "dm-", "md")
_VIRTUAL = ("vd", "xvd", "hd")


def read(world: World) -> Read:
    """Whole disks and arrays, and mounted file systems."""
    names = [name for name in world.names(FOLDER)[:_MOST] if not name.startswith(_PASSED)]
    bare = [_disk(world, name) for name in names]
    asked = [disk for disk in bare if disk.kind != "virtual"]
    healths = at_once(lambda disk: health_of(world, disk), asked, most=_ASKED_AT_ONCE)
    fields = dict(zip((disk.name for disk in asked), healths, strict=True))
    disks = [replace(disk, **fields.get(disk.name, {})) for disk in bare]
    disks += [_array(world, name) for name in world.names(FOLDER) if re.fullmatch(r"md\d{1,3}", name)]
    mounts = mounts_of(world)
    if world.has(FOLDER):
        unseen_list: tuple[Unseen, ...] = ()
    else:
        unseen_list = (Unseen(what="disks", why=say("no disks in /sys"), see="lsblk"),)
    unseen = [*_unseen_health(asked, fields), *unseen_list, *mounts.unseen]
    listed = tuple(disks) if world.has(FOLDER) else None
    return Read(fields={"disks": listed, "mounts": mounts.mounts}, unseen=tuple(unseen))


def _unseen_health(asked: list[Disk], fields: dict[str, dict[str, Any]]) -> tuple[Unseen, ...]:
    closed = [disk.name for disk in asked if not fields.get(disk.name)]
    if not closed:
        return ()
    why = say("only root can read the health of {disks} (smartctl or nvme)", disks=", ".join(closed))
    return (Unseen(what="disks.health", why=why, see=f"sudo smartctl -a {shlex.quote(f'/dev/{closed[0]}')}"),)


def _disk(world: World, name: str) -> Disk:
    at = f"{FOLDER}/{name}"
    place = world.link(at) or ""
    size = whole_of(world, f"{at}/size")
    address = address_above(place) or _controller(world, place)
    # NVMe, solid state, with turning plates, or lent by a hypervisor
    if name.startswith("nvme"):
        kind: str = "nvme"
    elif name.startswith(_VIRTUAL) or "/virtio" in place or "/vmbus" in place.lower():
        kind = "virtual"
    else:
        kind = "hdd" if whole_of(world, f"{FOLDER}/{name}/queue/rotational") == 1 else "ssd"
    link = f"{BUS}/{address}"
    has_link = kind == "nvme" and address is not None
    # what the disk's SATA link carries, coding taken off
    match = re.search(r"/ata(\d{1,18})/", place)
    speed = real(word_of(world, f"/sys/class/ata_link/link{match.group(1)}/sata_spd")) if match else None
    return Disk(
        name=name,
        kind=kind,
        model=word_of(world, f"{at}/device/model"),
        size_bytes=float(size * SECTOR_BYTES) if size else None,
        pci=address,
        gen=gen_of(word_of(world, f"{link}/current_link_speed")) if has_link else None,
        gen_max=gen_of(word_of(world, f"{link}/max_link_speed")) if has_link else None,
        lanes=lanes_of(whole_of(world, f"{link}/current_link_width")) if has_link else None,
        lanes_max=lanes_of(whole_of(world, f"{link}/max_link_width")) if has_link else None,
        sata_bytes_per_s=speed * GIGA * SATA_CODING / _BITS if speed else None,
        scheduler=chosen(world.text(f"{at}/queue/scheduler", 256)),
    )


def _controller(world: World, place: str) -> str | None:
    """The function of an NVMe disk with several paths, which lies below no function itself."""
    match = re.search(r"/(nvme-subsys\d+)/", place)
    if match is None:
        return None
    folder = f"/sys/class/nvme-subsystem/{match.group(1)}"
    names = [name for name in world.names(folder) if re.fullmatch(r"nvme\d+", name)]
    return address_above(world.link(f"{folder}/{names[0]}")) if names else None


def _array(world: World, name: str) -> Disk:
    """A software array: how many of its disks it lacks."""
    at = f"{FOLDER}/{name}"
    size, missing = whole_of(world, f"{at}/size"), whole_of(world, f"{at}/md/degraded")
    return Disk(
        name=name,
        kind="array",
        model=word_of(world, f"{at}/md/level"),
        size_bytes=float(size * SECTOR_BYTES) if size else None,
        warnings=(f"degraded: {missing} missing",) if missing else (),
    )
