"""Tables of nvidia-smi: the CSV of `--query-gpu`, and the picture it prints without arguments."""

from __future__ import annotations

import re
from itertools import pairwise

from rigright.machine.device import Device
from rigright.machine.nvidia_smi.cards import TABLE, Told, device_of
from rigright.machine.record import Read
from rigright.machine.system import Software
from rigright.machine.told.fields import words
from rigright.machine.told.values import read_value, seen

_MOST_ROWS = 512
_UNIT = re.compile(r" \[[^\[\]]{1,12}\]\Z")
_HEAD = re.compile(r"Driver Version: (\S+)\s+CUDA (?:UMD )?Version: (\S+)")
_NAME = re.compile(
    r"\|\s*(\d{1,3})\s+(\S.{0,60}?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM)(?:/\S+)?\s*"
    r"\|\s*([0-9A-Fa-f:.]+)\s+(\S+)"
)
_USE = re.compile(
    r"\|\s*(\S+)\s+(\S+?)C?\s+(P\d+|N/A)\s+(\S+?)W? /\s+(\S+?)W?\s*"
    r"\|\s*(\S+) /\s+(\S+)\s*\|\s*(\S+?)\s+(.*?)\s*\|"
)


def is_sheet(text: str) -> bool:
    """Whether its first line names fields of `--query-gpu`."""
    heads = _heads(text.lstrip().partition("\n")[0])
    return len(heads) > 1 and len(words(TABLE, "query").intersection(heads)) >= min(2, len(heads))


def read_sheet(text: str) -> Read:
    """The cards of a CSV with its line of heads."""
    lines = [line for line in text.strip().splitlines() if line.strip()][: _MOST_ROWS + 1]
    heads = _heads(lines[0]) if lines else []
    rows = [dict(zip(heads, map(str.strip, line.split(",")), strict=False)) for line in lines[1:]]
    devices = tuple(
        device_of(Told(form="query", values=row), _index(row, place)) for place, row in enumerate(rows)
    )
    driver = seen(rows[0].get("driver_version")) if rows else None
    return Read(fields=(("devices", devices), ("software", Software(driver=driver))))


def _heads(line: str) -> list[str]:
    return [_UNIT.sub("", head.strip()) for head in line.split(",")]


def _index(row: dict[str, str], place: int) -> int:
    told = read_value("count", row.get("index"))
    return told if isinstance(told, int) else place


def is_picture(text: str) -> bool:
    """Whether it is the table that people paste."""
    return "| NVIDIA-SMI " in text and "Driver Version" in text


def read_picture(text: str) -> Read:
    """The cards of that table; names may be cut short in it."""
    lines = text.splitlines()
    found: list[Device] = []
    for line, below in pairwise(lines):
        name, use = _NAME.match(line), _USE.match(below)
        if name and use and len(found) < _MOST_ROWS:
            found.append(device_of(Told(form="query", values=_row(name, use)), int(name.group(1))))
    head = _HEAD.search(text)
    driver, cuda = head.groups() if head else (None, None)
    software = Software(driver=seen(driver), driver_cuda=seen(cuda))
    return Read(fields=(("devices", tuple(found)), ("software", software)))


def _row(name: re.Match[str], use: re.Match[str]) -> dict[str, str]:
    """The two lines of a card under the words of a query."""
    return {
        "name": name.group(2),
        "pci.bus_id": name.group(3),
        "display_active": {"On": "Enabled", "Off": "Disabled"}.get(name.group(4), "N/A"),
        "fan.speed": use.group(1),
        "temperature.gpu": use.group(2),
        "pstate": use.group(3),
        "power.draw": use.group(4),
        "power.limit": use.group(5),
        "memory.used": use.group(6),
        "memory.total": use.group(7),
        "utilization.gpu": use.group(8),
        "compute_mode": use.group(9).strip(),
    }
