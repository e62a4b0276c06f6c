"""JSON of xpu-smi: the list of devices, one device in full, and its figures now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.units import MEGA, MIB
from rigright.machine.device import Clocks, Device, PcieLink, Power, Thermal
from rigright.machine.record import Read
from rigright.machine.system import Software
from rigright.machine.told.values import address, read_value

_MOST_DEVICES = 256
_VERSION = re.compile(r"(?:[A-Z]\w*_)?(\d+(?:\.\d+)+)")  # "I915_23.10.72_PSB_..."; not a hash
_NAMELESS = re.compile(r"Intel Graphics \[0x[0-9a-f]+\]")  # what Level Zero calls a card newer than itself
_OF_TILES: dict[str, Callable[[Sequence[float]], float]] = {  # of all others the greatest
    "XPUM_STATS_POWER": sum,
    "XPUM_STATS_MEMORY_USED": sum,
    "XPUM_STATS_GPU_UTILIZATION": lambda each: sum(each) / len(each),
}


def parsed(text: str) -> Any:
    """The JSON, or None."""
    try:
        return bounded_json(text)
    except ValueError:
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
    versions = (_VERSION.match(str(one.get("driver_version", ""))) for one in told.values())
    driver = next((match[1] for match in versions if match), None)
    return Read(fields={"devices": devices, "software": Software(driver=driver)})


def _stats(document: Any) -> dict[str, float]:
    """Figures by their name: "XPUM_STATS_POWER"; of the tiles together what is told of them alone."""
    told = document if isinstance(document, dict) else {}
    tiles = told.get("tile_level")
    of_tiles: dict[str, list[float]] = {}
    for tile in tiles[:_MOST_DEVICES] if isinstance(tiles, list) else ():
        for name, value in _figures(tile.get("data_list") if isinstance(tile, dict) else None):
            of_tiles.setdefault(name, []).append(value)
    joined = {name: _OF_TILES.get(name, max)(values) for name, values in of_tiles.items()}
    return {**joined, **dict(_figures(told.get("device_level")))}


def _figures(listed: Any) -> Iterator[tuple[str, float]]:
    for one in listed if isinstance(listed, list) else ():
        value = one.get("value") if isinstance(one, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield str(one.get("metrics_type")), float(value)


def _device(index: int, told: Mapping[str, Any], *, stats: Mapping[str, float]) -> Device:
    values = {name: str(value) for name, value in told.items() if isinstance(value, str | int | float)}

    def read(kind: str, name: str) -> Any:
        return read_value(kind, values.get(name))

    total = read("raw_bytes", "memory_physical_size_byte") or None
    free = read("raw_bytes", "memory_free_size_byte")
    # mebibytes, of older versions bytes: no card holds as many mebibytes as one holds bytes
    said = stats.get("XPUM_STATS_MEMORY_USED")
    now = said if said is None or said >= MIB else said * MIB
    used = now if now is not None or total is None or free is None else total - free
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
        mem_free_bytes=free if now is None or total is None else total - now,
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
    name = (told or "").replace("(R)", "").replace("(TM)", "").strip()
    return None if not name or _NAMELESS.fullmatch(name) else name


def _id(told: str | None) -> str | None:
    digits = (told or "").lower().removeprefix("0x").zfill(4)
    return (
        f"8086:{digits}" if told and len(digits) == 4 and not set(digits) - set("0123456789abcdef") else None
    )
