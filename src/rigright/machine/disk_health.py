"""What a disk says of its own health: SMART, through smartctl or nvme, which only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.base.bounded import json_object
from rigright.base.units import MIB
from rigright.machine.host import Disk
from rigright.machine.world import World

PATIENCE_S = 2.0
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
    reply = world.run(*argv, patience_s=PATIENCE_S)
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
