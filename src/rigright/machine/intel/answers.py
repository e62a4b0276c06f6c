"""JSON of xpu-smi: the list of devices, one device in full, and its figures now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rigright.base.units import MEGA, MIB
from rigright.machine.device import Clocks, Device, PcieLink, Power, Thermal
from rigright.machine.record import Read
from rigright.machine.system import Software
from rigright.machine.told.values import address, read_value

_MOST_DEVICES = 256


def parsed(text: str) -> Any:
    """The JSON, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def listed(document: Any) -> list[Mapping[str, Any]]:
    """The devices of `xpu-smi discovery -j`, or the one of `discovery -d N -j`."""
    if not isinstance(document, dict):
        return []
    found = document.get("device_list", [document])
    if not isinstance(found, list):
        return []
    return [one for one in found[:_MOST_DEVICES] if isinstance(one, dict) and "pci_bdf_address" in one]


def read_list(*documents: Any, now: Mapping[int, Any] | None = None) -> Read:
    """Devices of any of these answers; `now`: the answer of `xpu-smi stats` of each."""
    told: dict[int, dict[str, Any]] = {}
    for place, one in enumerate(one for document in documents for one in listed(document)):
        index = one.get("device_id", place)
        told.setdefault(index if isinstance(index, int) else place, {}).update(one)
    devices = tuple(
        _device(index, one, stats=_stats((now or {}).get(index))) for index, one in sorted(told.items())
    )
    driver = next((str(one["driver_version"]) for one in told.values() if one.get("driver_version")), None)
    return Read(fields=(("devices", devices), ("software", Software(driver=driver))))


def _stats(document: Any) -> dict[str, float]:
    """Figures by their name: "XPUM_STATS_POWER"."""
    level = document.get("device_level") if isinstance(document, dict) else None
    return {
        str(one.get("metrics_type")): float(one["value"])
        for one in (level if isinstance(level, list) else ())
        if isinstance(one, dict) and isinstance(one.get("value"), int | float)
    }


def _device(index: int, told: Mapping[str, Any], *, stats: Mapping[str, float]) -> Device:
    values = {name: str(value) for name, value in told.items() if isinstance(value, str | int | float)}

    def read(kind: str, name: str) -> Any:
        return read_value(kind, values.get(name))

    total, free = read("raw_bytes", "memory_physical_size_byte"), read("raw_bytes", "memory_free_size_byte")
    used_mib = stats.get("XPUM_STATS_MEMORY_USED")
    used = used_mib * MIB if used_mib is not None else None if total is None or free is None else total - free
    clock_mhz, busy = stats.get("XPUM_STATS_GPU_FREQUENCY"), stats.get("XPUM_STATS_GPU_UTILIZATION")
    most_mhz = read("number", "core_clock_rate_mhz")
    return Device(
        index=index,
        vendor="intel",
        name=_name(values.get("device_name")),
        uuid=read("mark", "uuid"),
        serial=read("mark", "serial_number"),
        pci=address(values.get("pci_bdf_address", "")),
        pci_id=_id(values.get("pci_device_id")),
        cores=read("count", "number_of_eus"),
        mem_total_bytes=total,
        mem_used_bytes=used,
        mem_free_bytes=free if used_mib is None or total is None else total - used_mib * MIB,
        pcie=PcieLink(
            gen_max=read("count", "pcie_generation"), lanes_max=read("count", "pcie_max_link_width")
        ),
        clocks=Clocks(
            sm_hz=None if clock_mhz is None else clock_mhz * MEGA,
            sm_max_hz=None if most_mhz is None else most_mhz * MEGA,
        ),
        power=Power(draw_w=stats.get("XPUM_STATS_POWER")),
        thermal=Thermal(
            gpu_c=stats.get("XPUM_STATS_GPU_CORE_TEMPERATURE"),
            mem_c=stats.get("XPUM_STATS_MEMORY_TEMPERATURE"),
        ),
        busy_share=None if busy is None else busy / 100,
    )


def _name(told: str | None) -> str | None:
    return None if told is None else told.replace("(R)", "").replace("(TM)", "").strip()


def _id(told: str | None) -> str | None:
    digits = (told or "").lower().removeprefix("0x").zfill(4)
    return (
        f"8086:{digits}" if told and len(digits) == 4 and not set(digits) - set("0123456789abcdef") else None
    )
