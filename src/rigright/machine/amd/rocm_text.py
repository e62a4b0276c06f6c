"""What rocm-smi prints for people: lines of `GPU[0] : word: value`, and the table of all cards.

Both become what `rocm-smi --json` tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

_MOST_LINES = 200_000
_MOST_CARDS = 256
_LINE = re.compile(r"GPU\[(\d{1,3})\]\s{0,40}:\s{0,8}(\S[^:]{0,80}):\s{0,40}(\S.{0,200})")
_CLOCK = re.compile(r"(\w{1,12}clk) clock level\Z")
_SPEED = re.compile(r"\((\d{1,6}Mhz)\)")
_DRIVER = re.compile(r"Driver version: (\S{1,40})\s*\Z")
_TITLE = re.compile(r"={4,200} {0,9}\w")
_ROW = re.compile(r"\s{0,4}(\d{1,3})\s+\S")
_ID = re.compile(r"\b0x([0-9a-f]{4}),")
_PARTS = re.compile(r"(?:(NPS\d), ([A-Z]{3})|N/A, N/A), (\d{1,2})\b")
_HEAT = re.compile(r"(\d{1,3}\.\d)\s?°?[cC]\b")
_WATTS = re.compile(r"(\d{1,5}(?:\.\d)?)W\b")


def rocm_json(text: str) -> dict[str, Any]:
    """The document that it would have written; empty where rocm-smi did not write the text."""
    fields: dict[str, Any] = {}
    in_table = False
    for line in islice(text.splitlines(), _MOST_LINES):
        in_table = (in_table or ("SCLK" in line and "Perf" in line)) and not _TITLE.match(line)
        given = dict(_one_line(line)) if "GPU[" in line[:40] else _row(line) if in_table else {}
        index = given.pop("index", None)
        if index is not None and len(fields) < _MOST_CARDS:
            card = fields.setdefault(f"card{index}", {})
            for name, value in given.items():
                card.setdefault(name, value)
        if match := _DRIVER.match(line):
            fields["system"] = {"Driver version": match[1]}
    return fields if any(name != "system" for name in fields) else {}


def _one_line(line: str) -> Iterator[tuple[str, str]]:
    match = _LINE.search(line[:400])
    if match is None:
        return
    index, name, value = match.groups()
    yield "index", str(int(index))
    clock, speed = _CLOCK.match(name), _SPEED.search(value)
    if clock and speed:
        yield f"{clock[1]} clock speed:", f"({speed[1]})"
    else:
        yield name, value.strip()


def _row(line: str) -> dict[str, str]:
    """One card of the table; a cell that cannot be told from its neighbour is left out."""
    start = _ROW.match(line)
    ends = line.rstrip().endswith(("%", "N/A"))
    if start is None or not ends or len(line) > 400:
        return {}
    left, clock, right = line.partition("Mhz")
    fields: dict[str, str | None] = {
        "index": str(int(start[1])),
        "Device ID": _first(_ID, line, form="0x{}"),
        "Temperature (Sensor junction) (C)": _first(_HEAT, line),
        "Average Graphics Package Power (W)": _first(_WATTS, left) if clock else None,
        "Max Graphics Package Power (W)": _first(_WATTS, right),
        "GPU use (%)": _first(re.compile(r"(\d{1,3})%\s*\Z"), line),
    }
    clocks = re.findall(r"(\d{1,6})Mhz", line)
    if len(clocks) == 2:
        fields |= {"sclk clock speed:": f"({clocks[0]}Mhz)", "mclk clock speed:": f"({clocks[1]}Mhz)"}
    if parts := _PARTS.search(line):
        fields |= {"Memory Partition": parts[1], "Compute Partition": parts[2], "Partition ID": parts[3]}
    return {name: value for name, value in fields.items() if value is not None}


def _first(pattern: re.Pattern[str], line: str, *, form: str = "{}") -> str | None:
    match = pattern.search(line)
    return None if match is None else form.format(match[1])
