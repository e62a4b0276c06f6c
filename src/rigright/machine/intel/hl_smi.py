"""What hl-smi prints of Gaudi accelerators: its table, and the CSV of its queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rigright.base.units import MIB
from rigright.machine.device import Device, Program
from rigright.machine.device_text.device import device_from
from rigright.machine.device_text.fields import read_fields
from rigright.machine.device_text.values import read_value
from rigright.machine.intel.xpu_smi import TABLE
from rigright.machine.record import Read, telling
from rigright.machine.system import Software

_MOST_DEVICES = 256
MARK = re.compile(r"\|\s*HL-SMI Version:|\|\s*AIP\s+Name\s+Persistence-M\|")
_CARD = re.compile(
    r"^\|\s*(\d{1,3})\s+(HL-\w{1,20})\s[^|\n]{0,80}\|\s*([0-9a-fA-F:.]{7,16})[^|\n]{0,80}"
    r"\|\s*(\d{1,9}|N/A)\s"
    r"[^\n]{0,80}\n\|\s*\S{1,8}\s+(\d{1,3})C\s+\S{1,8}\s+"
    r"(\d{1,5})W ?/ ?(\d{1,5})W[^|\n]{0,40}"
    r"\|\s*(\d{1,9})MiB ?/ ?(\d{1,9})MiB[^|\n]{0,40}\|\s*(\d{1,3})%",
    re.MULTILINE,
)
_CELLS = (  # what stands in it, in the words of a query
    *("name", "bus_id", "ecc.errors.uncorrected.volatile.total", "temperature.aip", "power.draw"),
    *("power.limit", "memory.used", "memory.total", "utilization.aip"),
)
_DRIVER = re.compile(r"Driver Version:\s*(\d[\w.]{1,30})")
_PROCESS = re.compile(r"^\|\s*(\d{1,3})\s+(\d{1,9})\s+C\s+(\S{1,80})\s+(\d{1,9})\s?MiB\s*\|", re.MULTILINE)
_PROCESSES = "Compute Processes"
_HEADS = {"bus_id", "uuid", "index", "utilization.aip", "temperature.aip"}


def is_hl_smi(text: str) -> bool:
    """Whether it is a table or a query of hl-smi."""
    return MARK.search(text) is not None or "utilization.aip" in text or "temperature.aip" in text


def read_hl_smi(text: str) -> Read:
    """The cards of the table, or of the query."""
    devices: dict[int, Device] = {}
    for match in [*_CARD.finditer(text)][:_MOST_DEVICES]:
        row = dict(zip(_CELLS, match.groups()[1:], strict=True))
        devices.setdefault(int(match[1]), _device(row, int(match[1])))
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
    lines = [line for line in text.splitlines() if "," in line][: _MOST_DEVICES + 1]
    heads = [re.sub(r" ?\[.*", "", head.strip()) for head in lines[0].split(",")] if lines else []
    devices: dict[object, Device] = {}  # asked in a loop, each card comes again and again
    rows = [line for line in lines if line != lines[0]] if _HEADS.intersection(heads) else []
    for place, line in enumerate(rows):
        row = dict(zip(heads, (cell.strip() for cell in line.split(",")), strict=False))
        index: Any = read_value("count", row.get("index"))
        mark = next((row[item] for item in ("uuid", "bus_id", "index") if item in row), place)
        devices.setdefault(mark, _device(row, place if index is None else index))
    return tuple(devices.values())


def _device(row: Mapping[str, str], index: int) -> Device:
    """A card of the words of a query."""
    device = device_from(read_fields(TABLE, "hl_smi", values=row), vendor="intel", index=index)
    return device if device.ecc is None else replace(device, ecc=replace(device.ecc, on=True))
