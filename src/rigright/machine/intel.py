"""Intel's tools: xpu-smi of data-centre and Arc GPUs (JSON, table), hl-smi of Gaudi (table, CSV)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from rigright.base.bounded import json_object
from rigright.base.units import MEGA, MIB
from rigright.machine.device import Device, Program, device_from
from rigright.machine.record import Read, telling
from rigright.machine.system import Software
from rigright.machine.values import csv_rows, read_fields, read_value

_TABLE = "intel_smi.csv"
_MOST_DEVICES = 256
_VERSION = re.compile(r"(?:[A-Z]\w*_)?(\d+(?:\.\d+)+)")  # "I915_23.10.72_PSB_..."; not a hash
_STATS = {  # figure -> field, and what it is multiplied and divided by
    "XPUM_STATS_POWER": ("power.draw_w", 1, 1),
    "XPUM_STATS_GPU_CORE_TEMPERATURE": ("thermal.gpu_c", 1, 1),
    "XPUM_STATS_MEMORY_TEMPERATURE": ("thermal.mem_c", 1, 1),
    "XPUM_STATS_GPU_FREQUENCY": ("clocks.sm_hz", MEGA, 1),
    "XPUM_STATS_GPU_UTILIZATION": ("busy_share", 1, 100),
}
_OF_TILES: dict[str, Callable[[Sequence[float]], float]] = {  # of all others the greatest
    "XPUM_STATS_POWER": sum,
    "XPUM_STATS_MEMORY_USED": sum,
    "XPUM_STATS_GPU_UTILIZATION": lambda each: sum(each) / len(each),
}

_MOST_LINES = 50_000
_ROW = re.compile(
    r"\|\s{1,20}(\d{0,3})\s{1,20}\|\s([A-Z][A-Za-z ]{1,40}): (\S[^|]{0,120}?)\s{1,120}\|\s{0,9}\Z"
)
_HEADINGS = {
    "Device Name": "device_name",
    "UUID": "uuid",
    "SOC UUID": "uuid",
    "Serial Number": "serial_number",
    "PCI BDF Address": "pci_bdf_address",
    "PCI Device ID": "pci_device_id",
    "Core Clock Rate": "core_clock_rate_mhz",
    "Driver Version": "driver_version",
    "PCIe Generation": "pcie_generation",
    "PCIe Max Link Width": "pcie_max_link_width",
    "Memory Physical Size": "memory_physical_size_byte",
    "Number of EUs": "number_of_eus",
}


def document_of(text: str) -> dict[str, Any]:
    """Its JSON; empty where it lists no device."""
    fields = json_object(text)
    return fields if listed(fields) else {}


def table_document(text: str) -> dict[str, Any]:
    """The devices it lists; empty where it is no such table."""
    fields: dict[int, dict[str, Any]] = {}
    index: int | None = None
    for line in islice(text.splitlines(), _MOST_LINES):
        match = _ROW.match(line[:400])
        if match is None:
            continue
        index = int(match[1]) if match[1] else index
        name = _HEADINGS.get(match[2])
        if index is None or name is None or (index not in fields and len(fields) >= _MOST_DEVICES):
            continue
        device = fields.setdefault(index, {"device_id": index})
        value = match[3].removesuffix(" MHz") if name.endswith("_mhz") else match[3]
        device.setdefault(name, value)
    placed = [row for row in fields.values() if "pci_bdf_address" in row]
    return {"device_list": placed} if placed else {}


def listed(document: Any) -> list[Mapping[str, Any]]:
    """The devices of `xpu-smi discovery -j`, or the one of `discovery -d N -j`."""
    value = document.get("device_list", [document]) if isinstance(document, dict) else None
    if not isinstance(value, list):
        return []
    return [item for item in value[:_MOST_DEVICES] if isinstance(item, dict) and "pci_bdf_address" in item]


def read_list(*documents: Any, now: Mapping[int, Any] | None = None) -> Read:
    """Devices of any of these answers; `now`: the answer of `xpu-smi stats` of each."""
    fields: dict[int, dict[str, Any]] = {}
    for place, row in enumerate(item for document in documents for item in listed(document)):
        index = row.get("device_id", place)
        fields.setdefault(index if isinstance(index, int) else place, {}).update(row)
    devices = tuple(
        _xpu_device(index, item, stats=_stats((now or {}).get(index)))
        for index, item in sorted(fields.items())
    )
    versions = (_VERSION.match(str(item.get("driver_version", ""))) for item in fields.values())
    driver = next((match[1] for match in versions if match), None)
    return Read(fields={"devices": devices, "software": Software(driver=driver)})


def _stats(document: Any) -> dict[str, float]:
    """Figures by their name: "XPUM_STATS_POWER"; of the tiles together what is told of them alone."""
    fields = document if isinstance(document, dict) else {}
    tiles = fields.get("tile_level")
    of_tiles: dict[str, list[float]] = {}
    for tile in tiles[:_MOST_DEVICES] if isinstance(tiles, list) else ():
        for name, value in _figures(tile.get("data_list") if isinstance(tile, dict) else None):
            of_tiles.setdefault(name, []).append(value)
    joined = {name: _OF_TILES.get(name, max)(values) for name, values in of_tiles.items()}
    return {**joined, **dict(_figures(fields.get("device_level")))}


def _figures(listed: Any) -> Iterator[tuple[str, float]]:
    for item in listed if isinstance(listed, list) else ():
        value = item.get("value") if isinstance(item, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield str(item.get("metrics_type")), float(value)


def _xpu_device(index: int, fields: Mapping[str, Any], *, stats: Mapping[str, float]) -> Device:
    values = {name: str(value) for name, value in fields.items() if isinstance(value, str | int | float)}
    result = read_fields(_TABLE, "xpu_smi", values=values)
    result |= {
        field: stats[name] * times / per for name, (field, times, per) in _STATS.items() if name in stats
    }
    total, free = result.get("mem_total_bytes") or None, result.get("mem_free_bytes")
    # mebibytes, of older versions bytes: no card holds as many mebibytes as one holds bytes
    stated = stats.get("XPUM_STATS_MEMORY_USED")
    now = stated if stated is None or stated >= MIB else stated * MIB
    result["mem_total_bytes"] = total
    if total is not None:
        result["mem_used_bytes"] = now if now is not None or free is None else total - free
        result["mem_free_bytes"] = free if now is None else total - now
    else:
        result["mem_used_bytes"] = now
    return device_from(result, vendor="intel", index=index)


_CARD = re.compile(
    r"^\|\s*(\d{1,3})\s+(HL-\w{1,20})\s[^|\n]{0,80}\|\s*([0-9a-fA-F:.]{7,16})[^|\n]{0,80}"
    r"\|\s*(\d{1,9}|N/A)\s"
    r"[^\n]{0,80}\n\|\s*\S{1,8}\s+(\d{1,3})C\s+\S{1,8}\s+"
    r"(\d{1,5})W\s{0,4}/\s{0,4}(\d{1,5})W[^|\n]{0,40}"
    r"\|\s*(\d{1,9})MiB\s{0,4}/\s{0,4}(\d{1,9})MiB[^|\n]{0,40}\|\s*(\d{1,3})%",
    re.MULTILINE,
)
_CELLS = (  # what stands in it, in the words of a query
    *("name", "bus_id", "ecc.errors.uncorrected.volatile.total", "temperature.aip", "power.draw"),
    *("power.limit", "memory.used", "memory.total", "utilization.aip"),
)
_DRIVER = re.compile(r"Driver Version:\s*(\d[\w.]{1,30})")
_PROCESS = re.compile(r"^\|\s*(\d{1,3})\s+(\d{1,9})\s+C\s+(\S{1,80})\s+(\d{1,9})\s?MiB\s*\|", re.MULTILINE)
_PROCESSES = "Compute Processes"
_QUERY_HEADS = {"bus_id", "uuid", "index", "utilization.aip", "temperature.aip"}


def read_hl_smi(text: str) -> Read:
    """The cards of the table, or of the query."""
    devices: dict[int, Device] = {}
    for match in [*_CARD.finditer(text)][:_MOST_DEVICES]:
        row = dict(zip(_CELLS, match.groups()[1:], strict=True))
        devices.setdefault(int(match[1]), _gaudi_device(row, int(match[1])))
    below = text.partition(_PROCESSES)[2]
    for index, pid, name, value in _PROCESS.findall(below)[: _MOST_DEVICES * 16]:
        device = devices.get(int(index))
        if device is not None:
            program = Program(pid=int(pid), name=name, mem_bytes=float(value) * MIB)
            devices[int(index)] = replace(device, programs=(*(device.programs or ()), program))
    result = tuple(devices[index] for index in sorted(devices)) or _of_query(text)
    driver = _DRIVER.search(text)
    return Read(fields=telling(devices=result, software=Software(driver=driver[1]) if driver else None))


def _of_query(text: str) -> tuple[Device, ...]:
    """The CSV of `hl-smi -Q ... -f csv`, with its line of names."""
    devices = []
    for place, row in enumerate(csv_rows(text, marks=("uuid", "bus_id", "index"), most=_MOST_DEVICES)):
        index: Any = read_value("count", row.get("index"))
        if not _QUERY_HEADS.isdisjoint(row):
            devices.append(_gaudi_device(row, place if index is None else index))
    return tuple(devices)


def _gaudi_device(row: Mapping[str, str], index: int) -> Device:
    """A card of the words of a query."""
    device = device_from(read_fields(_TABLE, "hl_smi", values=row), vendor="intel", index=index)
    return device if device.ecc is None else replace(device, ecc=replace(device.ecc, on=True))
