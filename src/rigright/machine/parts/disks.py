"""Disks, how they hang on the machine and how they feel (SMART); and the file systems on them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rigright.base.bounded import json_object
from rigright.base.units import GIGA, MIB
from rigright.base.words import say
from rigright.machine.at_once import at_once
from rigright.machine.cells import chosen, real, whole_of, word_of
from rigright.machine.device import PcieLink
from rigright.machine.host import Disk
from rigright.machine.mounts import mounts_of
from rigright.machine.pci import FOLDER as BUS
from rigright.machine.pci import address_above, link_at
from rigright.machine.record import Read, Unseen
from rigright.machine.world import World

_PATIENCE_S = 2.0
_MOST_CHARS = MIB
_KELVIN = 273
_CRITICAL = (  # bits of an NVMe disk's critical warning (NVM Express base specification, SMART log)
    "spare blocks below the threshold",
    "temperature beyond its limits",
    "reliability degraded",
    "read only",
    "backup of volatile memory failed",
    "persistent memory read only",
)
_REALLOCATED, _PENDING, _LOST = 5, 197, 198  # SMART attributes of SATA disks


def health_of(world: World, disk: Disk) -> dict[str, Any]:
    """The fields of a disk that tell its health; a sleeping disk is not woken. Empty where nobody tells."""
    device = f"/dev/{disk.name}"
    if disk.kind == "nvme":
        fields = _json(world, "nvme", "smart-log", "-o", "json", device)
        if "critical_warning" in fields:
            # nvme-cli writes kelvin, and shares in percent
            critical = fields.get("critical_warning")
            bits = critical.get("value") if isinstance(critical, dict) else critical
            kelvin = _whole(fields.get("temperature"))
            return {
                "worn_share": _share(fields.get("percent_used", fields.get("percentage_used"))),
                "spare_share": _share(fields.get("avail_spare")),
                "temperature_c": float(kelvin - _KELVIN) if kelvin else None,
                "warnings": _bits(bits),
                "unsafe_shutdowns": _whole(fields.get("unsafe_shutdowns")),
                "media_errors": _whole(fields.get("media_errors")),
            }
    fields = _json(world, "smartctl", "-j", "-a", "-n", "standby", device)
    return health_in(fields)


def health_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same in what smartctl writes as JSON."""
    if not ({"smart_status", "nvme_smart_health_information_log"} & set(fields)):
        return {}
    log = _part(fields, "nvme_smart_health_information_log")
    heat = _whole(_part(fields, "temperature").get("current"))
    warnings = _bits(log.get("critical_warning"))
    if _part(fields, "smart_status").get("passed") is False:
        warnings += ("overall health: failed",)
    table = _part(fields, "ata_smart_attributes").get("table")
    bad = _attributes(table if isinstance(table, list) else [])
    return {
        "worn_share": _share(log.get("percentage_used")),
        "spare_share": _share(log.get("available_spare")),
        "temperature_c": float(heat) if heat is not None else None,
        "warnings": warnings + tuple(f"{name}: {count}" for name, count in bad if count),
        "unsafe_shutdowns": _whole(log.get("unsafe_shutdowns")),
        "media_errors": _whole(log.get("media_errors")),
    }


def _json(world: World, *argv: str) -> Mapping[str, Any]:
    reply = world.run(*argv, patience_s=_PATIENCE_S)
    return {} if reply is None or len(reply.out) > _MOST_CHARS else json_object(reply.out)


def _attributes(table: list[Any]) -> list[tuple[str, int]]:
    """Sectors a SATA disk has given up, or is about to."""
    names = {_REALLOCATED: "reallocated sectors", _PENDING: "pending sectors", _LOST: "unreadable sectors"}
    rows = [row for row in table[:256] if isinstance(row, dict) and row.get("id") in names]
    return [(names[row["id"]], _whole(_part(row, "raw").get("value")) or 0) for row in rows]


def _part(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = fields.get(name)
    return part if isinstance(part, dict) else {}


def _bits(value: object) -> tuple[str, ...]:
    bits = _whole(value) or 0
    return tuple(word for place, word in enumerate(_CRITICAL) if bits >> place & 1)


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        return int(value)
    return (
        int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63
        else None
    )


def _share(value: object) -> float | None:
    percent = _whole(value)
    return None if percent is None else percent / 100


_FOLDER = "/sys/block"
_SECTOR_BYTES = 512  # the kernel counts in these whatever the disk's own are
_SATA_CODING = 0.8  # 8 of 10 bits on the wire are data
_BITS = 8
_MOST = 512
_ASKED_AT_ONCE = 8
NO_DISKS = ("loop", "ram", "zram", "sr", "fd", "nbd", "dm-", "md")
_VIRTUAL = ("vd", "xvd", "hd")


def read(world: World) -> Read:
    """Whole disks and arrays, and mounted file systems."""
    names = [name for name in world.names(_FOLDER)[:_MOST] if not name.startswith(NO_DISKS)]
    bare = [_disk(world, name) for name in names]
    asked = [disk for disk in bare if disk.kind != "virtual"]
    healths = at_once(lambda disk: health_of(world, disk), asked, most=_ASKED_AT_ONCE)
    fields = dict(zip((disk.name for disk in asked), healths, strict=True))
    disks = [replace(disk, **fields.get(disk.name, {})) for disk in bare]
    disks += [_array(world, name) for name in world.names(_FOLDER) if re.fullmatch(r"md\d{1,3}", name)]
    mounts = mounts_of(world)
    if world.has(_FOLDER):
        unseen_list: tuple[Unseen, ...] = ()
    else:
        unseen_list = (Unseen(what="disks", why=say("no disks in /sys"), see="lsblk"),)
    unseen = [*_unseen_health(asked, fields), *unseen_list, *mounts.unseen]
    listed = tuple(disks) if world.has(_FOLDER) else None
    return Read(fields={"disks": listed, "mounts": mounts.mounts}, unseen=tuple(unseen))


def _unseen_health(asked: list[Disk], fields: dict[str, dict[str, Any]]) -> tuple[Unseen, ...]:
    closed = [disk.name for disk in asked if not fields.get(disk.name)]
    if not closed:
        return ()
    why = say("only root can read the health of {disks} (smartctl or nvme)", disks=", ".join(closed))
    return (Unseen(what="disks.health", why=why, see=f"sudo smartctl -a {shlex.quote(f'/dev/{closed[0]}')}"),)


def kind_of(name: str, *, turns: bool | None, is_lent: bool = False) -> str | None:
    """NVMe, lent by a hypervisor, with turning plates, or solid state; None where nothing tells."""
    if name.startswith("nvme"):
        return "nvme"
    if is_lent or name.startswith(_VIRTUAL):
        return "virtual"
    return None if turns is None else "hdd" if turns else "ssd"


def name_of(path: str) -> str:
    """A disk by its path, or that of the NVMe controller before it: "/dev/nvme0" -> "nvme0n1"."""
    name = path.rpartition("/")[2]
    return f"{name}n1" if re.fullmatch(r"nvme\d{1,3}", name) else name


def _disk(world: World, name: str) -> Disk:
    at = f"{_FOLDER}/{name}"
    place = world.link(at) or ""
    size = whole_of(world, f"{at}/size")
    address = address_above(place) or _controller(world, place)
    is_lent = "/virtio" in place or "/vmbus" in place.lower()
    kind = kind_of(name, turns=whole_of(world, f"{at}/queue/rotational") == 1, is_lent=is_lent)
    has_link = kind == "nvme" and address is not None
    link = link_at(world, f"{BUS}/{address}") if has_link else PcieLink()
    # what the disk's SATA link carries, coding taken off
    match = re.search(r"/ata(\d{1,18})/", place)
    speed = real(word_of(world, f"/sys/class/ata_link/link{match.group(1)}/sata_spd")) if match else None
    return Disk(
        name=name,
        kind=kind,
        model=word_of(world, f"{at}/device/model"),
        size_bytes=float(size * _SECTOR_BYTES) if size else None,
        pci=address,
        gen=link.gen,
        gen_max=link.gen_max,
        lanes=link.lanes,
        lanes_max=link.lanes_max,
        sata_bytes_per_s=speed * GIGA * _SATA_CODING / _BITS if speed else None,
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
    at = f"{_FOLDER}/{name}"
    size, missing = whole_of(world, f"{at}/size"), whole_of(world, f"{at}/md/degraded")
    return Disk(
        name=name,
        kind="array",
        model=word_of(world, f"{at}/md/level"),
        size_bytes=float(size * _SECTOR_BYTES) if size else None,
        warnings=(f"degraded: {missing} missing",) if missing else (),
    )
