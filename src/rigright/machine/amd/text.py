"""What amd-smi prints for people: trees of words, the table of `amd-smi monitor`, a picture of all cards.

Each becomes what the same command tells in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

_MOST_LINES = 200_000
_MOST_CARDS = 256
_CARD = re.compile(r"GPU: (\d{1,3})\s*\Z")
_WORD = re.compile(r"( {4,40})([A-Z][A-Z0-9_ ]{0,60}):(?: (\S.{0,300}))?\s*\Z")
_PAGES = {"retired", "pending", "un_res"}
_HEAD = re.compile(r"\s{0,4}GPU\s+(?:XCP\s+)?[A-Z]{3,}")
_COLUMNS = {
    "POWER": ("power", "socket_power"),
    "GPU_T": ("temperature", "hotspot"),
    "GPU_TEMP": ("temperature", "hotspot"),
    "MEM_T": ("temperature", "mem"),
    "MEM_TEMP": ("temperature", "mem"),
    "GFX_CLK": ("clock", "gfx_0", "clk"),
    "GFX_CLOCK": ("clock", "gfx_0", "clk"),
    "MEM_CLK": ("clock", "mem_0", "clk"),
    "MEM_CLOCK": ("clock", "mem_0", "clk"),
    "GFX_UTIL": ("usage", "gfx_activity"),
    "MEM_UTIL": ("usage", "umc_activity"),
    "GFX%": ("usage", "gfx_activity"),
    "MEM%": ("usage", "umc_activity"),
    "VRAM_USED": ("mem_usage", "used_vram"),
    "VRAM_TOTAL": ("mem_usage", "total_vram"),
}
_HELD = {  # columns that tell in which share of the time something held the card back
    "PVIOL": "ppt_violation_status",
    "TVIOL": "socket_thermal_violation_status",
    "PHOT_TVIOL": "prochot_violation_status",
    "VR_TVIOL": "vr_thermal_violation_status",
    "HBM_TVIOL": "hbm_thermal_violation_status",
}
_FIRST = re.compile(
    r"\|\s(?P<bdf>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\s(?P<name>[^|]{1,60})\|"
    r"\s{0,9}(?P<mem>\d{1,3} %|N/A)\s+(?P<heat>\d{1,3} .?C|N/A)\s+(?P<errors>\d{1,9}|N/A)\s+"
    r"(?P<draw>\d{1,5}|N/A)/(?P<most>\d{1,5}|N/A) W\s"
)
_SECOND = re.compile(
    r"\|\s+(?P<gpu>\d{1,3})\s+\S{1,9}\s+\S{1,9}\s+(?P<mode>[A-Z]{3}/NPS\d|N/A)\s+\|"
    r"\s{0,9}(?P<busy>\d{1,3} %|N/A)\s+(?P<fan>\S{1,9})\s*%?\s+(?P<used>\d{1,9})/(?P<total>\d{1,9}) MB"
)


def cards_in(text: str) -> list[dict[str, Any]]:
    """The cards of all that a text holds, as `amd-smi --json` has them; none where it is another's."""
    lines = list(islice(text.splitlines(), _MOST_LINES))
    # of static, metric, process, bad-pages: a card, and below it words set in by fours
    rows: list[dict[str, Any]] = []
    inner: list[tuple[int, dict[str, Any]]] = []
    for line in lines:
        card, word = _CARD.match(line), _WORD.match(line)
        if card:
            inner = [(0, {"gpu": int(card[1])})]
            rows.append(inner[0][1])
        elif line[:1] not in {" ", ""}:
            inner = []
        elif word and inner:
            depth = len(word[1])
            inner = [pair for pair in inner if pair[0] < depth]
            name, value = word[2].lower(), word[3]
            if value is not None:
                inner[-1][1].setdefault(
                    name,
                    int(value) if name == "pid" and re.fullmatch(r"[0-9]{1,9}", value) is not None else value,
                )
            else:
                inner.append((depth, _below(inner[-1][1], name)))
    # of `amd-smi` alone: two lines a card
    picture: list[dict[str, Any]] = []
    for above, below in pairwise(lines):
        first, second = _FIRST.match(above), _SECOND.match(below)
        if first is None or second is None:
            continue
        mode, _, memory = second["mode"].partition("/")
        picture.append(
            {
                "gpu": int(second["gpu"]),
                "asic": {"market_name": _named(first["name"])},
                "bus": {"bdf": first["bdf"]},
                "partition": {"accelerator_partition": mode, "memory_partition": memory}
                if memory
                else {"accelerator_partition": "SPX"},
                "usage": {"gfx_activity": second["busy"], "umc_activity": first["mem"]},
                "temperature": {"hotspot": first["heat"]},
                "ecc": {"total_uncorrectable_count": first["errors"]},
                "power": {"socket_power": f"{first['draw']} W"},
                "limit": {"socket_power": f"{first['most']} W"},
                "mem_usage": {"used_vram": f"{second['used']} MB", "total_vram": f"{second['total']} MB"},
            }
        )
    return [*islice((*[row for row in rows if len(row) > 1], *_table(lines), *picture), 4 * _MOST_CARDS)]


def _below(outer: dict[str, Any], name: str) -> dict[str, Any]:
    """The record that a word opens; programs stand in a list. How lists of pages are printed is not known."""
    fresh: dict[str, Any] = {}
    if name == "process_info":
        outer.setdefault("process_list", []).append({"process_info": fresh})
    elif name not in _PAGES:
        outer[name] = fresh
    return fresh


def _table(lines: list[str]) -> Iterator[dict[str, Any]]:
    """Of `amd-smi monitor`: the newest row of each card."""
    names: list[str] = []
    rows: dict[int, list[str]] = {}
    for line in lines:
        if _HEAD.match(line):
            names = line.split()
            continue
        cells = re.split(r" {2,}", line.strip()) if names else []
        if len(cells) != len(names) or not cells or not cells[0].isdecimal():
            continue
        part = cells[names.index("XCP")] if "XCP" in names else "0"
        if part in {"0", "N/A"} and len(rows) < _MOST_CARDS:
            rows[int(cells[0][:4])] = cells
    for gpu, cells in rows.items():
        yield from _row(gpu, dict(zip(names, cells, strict=False)))


def _row(gpu: int, cells: dict[str, str]) -> Iterator[dict[str, Any]]:
    card: dict[str, Any] = {"gpu": gpu}
    for column, path in _COLUMNS.items():
        if column in cells:
            record = card
            for name in path[:-1]:
                record = record.setdefault(name, {})
            record[path[-1]] = cells[column]
    shares = {name: re.match(r"\d{1,3}(?=\s?%|\Z)", cells.get(column, "")) for column, name in _HELD.items()}
    fields = {
        name: "NOT ACTIVE" if int(share[0]) == 0 else "ACTIVE" for name, share in shares.items() if share
    }
    if fields:
        card["throttle"] = fields
    if len(card) > 1:
        yield card


def _named(text: str) -> str:
    """A name that was cut on its left has lost its first word."""
    name = re.sub(r"\s*\(\d{1,3}\)\s*\Z", "", text).strip()
    if name.startswith("..."):
        name = name.partition(" ")[2]
    return name if "[" in name else name.rstrip("]")
