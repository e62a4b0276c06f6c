"""Fields that were told -> a `Device`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.machine.device import Clocks, Device, Ecc, Fabric, PcieLink, Power, Retired, Thermal

_INNER = ("pcie", "clocks", "power", "thermal", "ecc", "retired", "fabric")
_BANKS = ("max", "high", "partial", "low", "none")
_PLAIN = (
    *("name", "uuid", "serial", "pci", "pci_id", "board_id", "isa", "brand", "vbios", "sms", "cores"),
    *("mem_total_bytes", "mem_used_bytes", "mem_free_bytes", "mem_reserved_bytes", "bar1_total_bytes"),
    *("busy_share", "mem_busy_share", "pstate", "persistence", "compute_mode", "display", "numa_node"),
    *("mig", "mig_after_reset", "bus_bits"),
)


def device_from(fields: Mapping[str, Any], *, vendor: str, index: int, **more: Any) -> Device:
    """The device; `more` are fields that no table tells."""
    part = {name: part_of(fields, name) for name in _INNER}
    banks = tuple((name, fields[f"banks.{name}"]) for name in _BANKS if f"banks.{name}" in fields)
    retired = {**part["retired"], **({"banks": banks} if banks else {})}
    # what slows it down; None where nothing of it was told
    given = part_of(fields, "slow")
    return Device(
        index=index,
        vendor=vendor,
        **{name: fields[name] for name in _PLAIN if name in fields},
        pcie=PcieLink(**part["pcie"]),
        clocks=Clocks(**part["clocks"]),
        power=Power(**part["power"]),
        thermal=Thermal(**part["thermal"], fans=tuple(part_of(fields, "fans").values())),
        ecc=Ecc(**part["ecc"]) if part["ecc"].keys() - {"sram_over_threshold"} else None,
        retired=Retired(**retired) if retired else None,
        fabric=Fabric(**part["fabric"]) if part["fabric"] else None,
        slowed_by=tuple(sorted(name for name, on in given.items() if on)) if given else None,
        slowed_s=tuple(part_of(fields, "slowed").items()) or None,
        **more,
    )


def part_of(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The fields of one inner record."""
    return {key.partition(".")[2]: value for key, value in fields.items() if key.startswith(f"{name}.")}
