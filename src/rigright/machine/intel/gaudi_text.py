"""What hl-smi prints of Gaudi accelerators: its table, and the CSV of its queries."""

from __future__ import annotations

import re
from dataclasses import replace

from rigright.base.units import MIB
from rigright.machine.device import Device, Ecc, Power, Program, Thermal
from rigright.machine.record import Read, telling
from rigright.machine.system import Software
from rigright.machine.told.values import address

_MOST_DEVICES = 256
MARK = re.compile(r"\|\s*HL-SMI Version:|\|\s*AIP\s+Name\s+Persistence-M\|")
_CARD = re.compile(
    r"^\|\s*(?P<index>\d{1,3})\s+(?P<name>HL-\w{1,20})\s[^|\n]{0,80}\|\s*(?P<pci>[0-9a-fA-F:.]{7,16})[^|\n]{0,80}"
    r"\|\s*(?P<ecc>\d{1,9}|N/A)\s"
    r"[^\n]{0,80}\n\|\s*\S{1,8}\s+(?P<heat>\d{1,3})C\s+\S{1,8}\s+"
    r"(?P<draw>\d{1,5})W ?/ ?(?P<limit>\d{1,5})W[^|\n]{0,40}"
    r"\|\s*(?P<used>\d{1,9})MiB ?/ ?(?P<total>\d{1,9})MiB[^|\n]{0,40}\|\s*(?P<busy>\d{1,3})%",
    re.MULTILINE,
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
        index = int(match["index"])
        errors = match["ecc"]
        devices.setdefault(
            index,
            Device(
                index=index,
                vendor="intel",
                name=f"Gaudi {match['name']}",
                pci=address(match["pci"]),
                ecc=None if errors == "N/A" else Ecc(on=True, uncorrected_volatile=int(errors)),
                thermal=Thermal(gpu_c=float(match["heat"])),
                power=Power(draw_w=float(match["draw"]), limit_w=float(match["limit"])),
                mem_used_bytes=float(match["used"]) * MIB,
                mem_total_bytes=float(match["total"]) * MIB,
                busy_share=min(float(match["busy"]) / 100, 1.0),
            ),
        )
    below = text.partition(_PROCESSES)[2]
    for index, pid, name, held in _PROCESS.findall(below)[: _MOST_DEVICES * 16]:
        device = devices.get(int(index))
        if device is not None:
            program = Program(pid=int(pid), name=name, mem_bytes=float(held) * MIB)
            devices[int(index)] = replace(device, programs=(*(device.programs or ()), program))
    found = tuple(devices[index] for index in sorted(devices)) or _of_query(text)
    driver = _DRIVER.search(text)
    return Read(fields=telling(devices=found, software=Software(driver=driver[1]) if driver else None))


def _of_query(text: str) -> tuple[Device, ...]:
    """The CSV of `hl-smi -Q ... -f csv`, with its line of names."""
    lines = [line for line in text.splitlines() if "," in line][: _MOST_DEVICES + 1]
    heads = [re.sub(r" ?\[.*", "", head.strip()) for head in lines[0].split(",")] if lines else []
    found: dict[object, Device] = {}  # asked in a loop, each card comes again and again
    rows = [line for line in lines if line != lines[0]] if _HEADS.intersection(heads) else []
    for place, line in enumerate(rows):
        row = dict(zip(heads, (cell.strip() for cell in line.split(",")), strict=False))
        values = {name: _number(cell) for name, cell in row.items()}
        index, busy = values.get("index"), values.get("utilization.aip")
        used, total = (values.get(f"memory.{name}") for name in ("used", "total"))
        lost = values.get("ecc.errors.uncorrected.volatile.total")
        name = row.get("name")
        mark = next((row[one] for one in ("uuid", "bus_id", "index") if one in row), place)
        found.setdefault(
            mark,
            Device(
                index=place if index is None else int(index),
                vendor="intel",
                name=f"Gaudi {name}" if name and name.startswith("HL-") else name,
                pci=address(row.get("bus_id") or ""),
                uuid=row.get("uuid"),
                ecc=None if lost is None else Ecc(on=True, uncorrected_volatile=int(lost)),
                thermal=Thermal(gpu_c=values.get("temperature.aip")),
                power=Power(draw_w=values.get("power.draw")),
                mem_used_bytes=None if used is None else used * MIB,
                mem_total_bytes=None if total is None else total * MIB,
                busy_share=None if busy is None else min(busy / 100, 1.0),
            ),
        )
    return tuple(found.values())


def _number(cell: str) -> float | None:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?(?:MiB|MB|W|C|%|MHz)?", cell)
    return float(match[1]) if match else None
