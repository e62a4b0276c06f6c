"""The CSV of `nvidia-smi --query-gpu`."""

from __future__ import annotations

import re
from itertools import islice

from rigright.machine.device_text.fields import words
from rigright.machine.device_text.values import read_value
from rigright.machine.nvidia_smi.cards import TABLE, CardText, device_of, software_of
from rigright.machine.record import Read

_MOST_ROWS, _MOST_HEADS = 512, 200
_MARKS = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "index")
_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")
_NO_HEADER = re.compile(
    r"nvidia-smi(?:\.exe)? [^\n]{0,200}?--query-gpu=([\w.,-]{1,2000})(?=[^\n]{0,200}\bnoheader)[^\n]{0,400}\n"
)
_CARD = re.compile(r"(?:NVIDIA|Tesla|GeForce|Quadro|GRID|RTX|GPU-[0-9a-f]{8}-)(?: \S|\b)")
_MIB = re.compile(r"\d{1,9} MiB\Z")
_SURE = (  # what a cell is without its head
    ("uuid", re.compile(r"GPU-[0-9a-f-]{8,40}\Z")),
    ("name", re.compile(r"(?:NVIDIA|Tesla|GeForce|Quadro|GRID|RTX)\b")),
    ("pci.bus_id", re.compile(r"[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d\Z")),
    ("driver_version", re.compile(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?\Z")),
    ("utilization.gpu", re.compile(r"\d{1,3} %\Z")),
    ("power.draw", re.compile(r"\d{1,4}\.\d{2} W\Z")),
    ("power.limit", re.compile(r"\d{1,4}\.\d{2} W\Z")),
    ("pstate", re.compile(r"P\d{1,2}\Z")),
)
_UNIT = re.compile(r" \[[^\[\]]{1,12}\]\Z")


def is_sheet(text: str) -> bool:
    """Whether its first line names fields of `--query-gpu`."""
    heads = _heads(text.lstrip().partition("\n")[0])
    if any(head.endswith(".aip") for head in heads):  # of hl-smi
        return False
    return len(heads) > 1 and len(words(TABLE, "query").intersection(heads)) >= min(2, len(heads))


def read_sheet(text: str) -> Read:
    """The cards of a CSV with its line of heads."""
    lines = _first_lines(text, _MOST_ROWS + 1)
    heads = _heads(lines[0]) if lines else []
    rows = [dict(zip(heads, _cells(line), strict=False)) for line in lines[1:] if line != lines[0]]
    first_of: dict[str, dict[str, str]] = {}  # asked in a loop, each card comes again and again
    for place, row in enumerate(rows):
        first_of.setdefault(next((row[mark] for mark in _MARKS if mark in row), str(place)), row)
    devices = tuple(
        device_of(CardText(form="query", values=row), _index(row, place))
        for place, row in enumerate(first_of.values())
    )
    first = rows[0] if rows else {}
    software = software_of(driver=first.get("kmd_version") or first.get("driver_version"))
    return Read(fields={"devices": devices, "software": software})


def _first_lines(text: str, most: int) -> list[str]:
    """The first lines that say something; a flood is not cut into all of its lines for their sake."""
    return [match[0] for match in islice(_LINE.finditer(text), most)]


def headed(text: str) -> str:
    """The text with the line of heads that `noheader` left out: of its command, else by its cells."""
    text = _NO_HEADER.sub(lambda match: f"{match[0]}{match[1].replace(',', ', ')}\n", text)
    lines = _first_lines(text, _MOST_ROWS)
    cells = [_cells(line) for line in lines]
    if (
        len({len(row) for row in cells}) != 1
        or not 3 <= len(cells[0]) <= _MOST_HEADS
        or not any(map(_CARD.match, cells[0]))
    ):
        return text
    if not all(any(map(_CARD.match, row)) for row in cells):
        return text
    heads: list[str] = []
    for place in range(len(cells[0])):
        column = [row[place] for row in cells]
        is_index = not place and _counts(column)
        sure = (name for name, form in _SURE if name not in heads and all(map(form.match, column)))
        heads.append("index" if is_index else next(sure, "?"))
    memory = [
        place
        for place, name in enumerate(heads)
        if name == "?" and all(_MIB.match(row[place]) for row in cells)
    ]
    if len(memory) == 2:  # the larger is all there is
        larger = max(memory, key=lambda place: sum(int(row[place].split()[0]) for row in cells))
        for place in memory:
            heads[place] = "memory.total" if place == larger else "memory.used"
    return ", ".join(heads) + "\n" + "\n".join(lines) + "\n"


def _heads(line: str) -> list[str]:
    return [_UNIT.sub("", head) for head in _cells(line)]


def _counts(column: list[str]) -> bool:
    """Whether it numbers the cards, be it again and again."""
    once = list(dict.fromkeys(column))
    is_again = len(once) > 1 and column == (once * len(column))[: len(column)]
    return once == [str(number) for number in range(len(once))] and (is_again or len(column) == 1)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",", _MOST_HEADS)]


def _index(row: dict[str, str], place: int) -> int:
    value = read_value("count", row.get("index"))
    return value if isinstance(value, int) else place
