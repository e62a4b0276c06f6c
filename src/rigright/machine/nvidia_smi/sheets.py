"""The CSV of `nvidia-smi --query-gpu`."""

from __future__ import annotations

import re

from rigright.machine.nvidia_smi.cards import TABLE, Told, device_of, software_of
from rigright.machine.record import Read
from rigright.machine.told.fields import words
from rigright.machine.told.values import read_value

_MOST_ROWS = 512
_MARKS = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "index")
_UNIT = re.compile(r" \[[^\[\]]{1,12}\]\Z")


def is_sheet(text: str) -> bool:
    """Whether its first line names fields of `--query-gpu`."""
    heads = _heads(text.lstrip().partition("\n")[0])
    return len(heads) > 1 and len(words(TABLE, "query").intersection(heads)) >= min(2, len(heads))


def read_sheet(text: str) -> Read:
    """The cards of a CSV with its line of heads."""
    lines = [line for line in text.strip().splitlines() if line.strip()][: _MOST_ROWS + 1]
    heads = _heads(lines[0]) if lines else []
    rows = [dict(zip(heads, map(str.strip, line.split(",")), strict=False)) for line in lines[1:]]
    first_of: dict[str, dict[str, str]] = {}  # asked in a loop, each card comes again and again
    for place, row in enumerate(rows):
        first_of.setdefault(next((row[mark] for mark in _MARKS if mark in row), str(place)), row)
    devices = tuple(
        device_of(Told(form="query", values=row), _index(row, place))
        for place, row in enumerate(first_of.values())
    )
    first = rows[0] if rows else {}
    software = software_of(driver=first.get("kmd_version") or first.get("driver_version"))
    return Read(fields=(("devices", devices), ("software", software)))


def _heads(line: str) -> list[str]:
    return [_UNIT.sub("", head.strip()) for head in line.split(",")]


def _index(row: dict[str, str], place: int) -> int:
    told = read_value("count", row.get("index"))
    return told if isinstance(told, int) else place
