"""What AMD's tools print for people: amd-smi's trees, tables, picture and matrices, rocm-smi, rocminfo.

All but the matrices and rocminfo become what the same command tells in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

from rigright.base.units import GIGA, KIB, MEGA
from rigright.machine.amd.answers import cards_of, read_answers, whole_cards
from rigright.machine.amd.kernel import shares_memory
from rigright.machine.device import Clocks, Device, DirectLink
from rigright.machine.filled import devices_filled
from rigright.machine.host import Cpu, Path
from rigright.machine.record import Read, telling
from rigright.machine.system import Software, Toolkit
from rigright.machine.values import blocks, read_value, words_in

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


def is_printed(text: str) -> bool:
    """Whether amd-smi printed it."""
    return bool(cards_of(_cards_in(text))) or _is_table(text)


def read_printed(text: str) -> Read:
    """The cards of all that it printed, and what its matrices add to them."""
    return _laid_over(read_answers(_cards_in(text)), text)


def _cards_in(text: str) -> list[dict[str, Any]]:
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


_BITS = 8
_BDF = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_TITLE = re.compile(r"^([A-Z][A-Z/ ]{2,40}) TABLE:[ \t]*$", re.MULTILINE)
_MATRIX_HEAD = re.compile(rf"^[ \t]+({_BDF}(?:[ \t]+{_BDF})*)[ \t]*$", re.MULTILINE)
_MATRIX_ROW = re.compile(rf"^({_BDF})[ \t]+(\S.*)$", re.MULTILINE)
_XGMI = re.compile(
    rf"^GPU(\d{{1,3}})[ \t]+({_BDF})[ \t]+(\d{{1,5}}|N/A) ?\S*[ \t]+(\d{{1,6}}|N/A) ?Gb/s[ \t]+XGMI",
    re.MULTILINE,
)
_VERSION = re.compile(r"^AMDSMI Tool: .*ROCm version: (\d{1,3}(?:\.\d{1,3}){1,3})", re.MULTILINE)
_DRIVER = re.compile(r"amdgpu version: (\d{1,4}(?:\.\d{1,4}){1,3})")
_SOCKET = re.compile(
    r"^CPU: (\d{1,3})[ \t]*\n[ \t]+(?:SMU|POWER_METRICS|PROCHOT|FREQ_METRICS|INTERFACE_VERSION):",
    re.MULTILINE,
)
_KINDS = {"XGMI", "PCIE"}


def _is_table(text: str) -> bool:
    """Whether it holds one of them."""
    return any(
        (
            _TITLE.search(text) and _MATRIX_HEAD.search(text),
            _XGMI.search(text),
            _VERSION.search(text),
            _SOCKET.search(text),
        )
    )


def _laid_over(read: Read, text: str) -> Read:
    """What the matrices add to the cards that are known."""
    fields = dict(read.fields)
    places: dict[str, int] = {}
    kinds: dict[tuple[str, str], str] = {}
    for title, part in blocks(text, _TITLE):
        head = _MATRIX_HEAD.search(part)
        names = head[1].split() if head else []
        for name in names[:_MOST_CARDS]:
            places.setdefault(name, len(places))
        if title[1].strip() == "LINK TYPE":
            for row, cells in _MATRIX_ROW.findall(part):
                kinds |= {
                    (row, name): kind
                    for name, kind in zip(names, cells.split(), strict=False)
                    if kind in _KINDS and row < name
                }
    links = {}
    for index, bdf, _, rate in _XGMI.findall(text)[:_MOST_CARDS]:
        places[bdf] = int(index)
        speed = float(rate) * GIGA / _BITS if rate.isdecimal() else None
        links[bdf] = (DirectLink(index=0, active=True, bytes_per_s=speed),)
    more = tuple(
        Device(index=place, vendor="amd", pci=bdf, links=links.get(bdf))
        for bdf, place in sorted(places.items(), key=lambda pair: pair[1])
    )
    fields["devices"] = tuple(_with_places(fields.get("devices", ()), more))
    paths = tuple(
        Path(a=places[row], b=places[name], kind=kind)
        for (row, name), kind in kinds.items()
        if row in places and name in places
    )
    if paths:
        fields["paths"] = (*fields.get("paths", ()), *paths)
    version, driver = _VERSION.search(text), _DRIVER.search(text)
    if version or driver:
        software: Software = fields.get("software", Software())
        fields["software"] = replace(
            software,
            driver=software.driver or (driver[1] if driver else None),
            toolkits=(Toolkit(name="rocm", path="rocm", version=version[1]),) if version else (),
        )
    sockets = set(_SOCKET.findall(text))
    if sockets:
        fields["cpu"] = Cpu(vendor="amd", sockets=len(sockets))
    return replace(read, fields=fields)


def _with_places(known: tuple[Device, ...], more: tuple[Device, ...]) -> tuple[Device, ...]:
    """Cards that have no address take it from the matrix, in its order."""
    fields = {device.index: device.pci for device in more}
    named = tuple(replace(device, pci=device.pci or fields.get(device.index)) for device in known)
    return devices_filled(named, more)


_LINE = re.compile(r"GPU\[(\d{1,3})\]\s{0,40}:\s{0,8}(\S[^:]{0,80}):\s{0,40}(\S.{0,200})")
_CLOCK = re.compile(r"(\w{1,12}clk) clock level\Z")
_SPEED = re.compile(r"\((\d{1,6}Mhz)\)")
_ROCM_DRIVER = re.compile(r"Driver version: (\S{1,40})\s*\Z")
_ROCM_TITLE = re.compile(r"={4,200} {0,9}\w")
_ROCM_ROW = re.compile(r"\s{0,4}(\d{1,3})\s+\S")
_ID = re.compile(r"\b0x([0-9a-f]{4}),")
_PARTS = re.compile(r"(?:(NPS\d), ([A-Z]{3})|N/A, N/A), (\d{1,2})\b")
_HEAT = re.compile(r"(\d{1,3}\.\d)\s?°?[cC]\b")
_WATTS = re.compile(r"(\d{1,5}(?:\.\d)?)W\b")


def rocm_json(text: str) -> dict[str, Any]:
    """The document that it would have written; empty where rocm-smi did not write the text."""
    fields: dict[str, Any] = {}
    in_table = False
    for line in islice(text.splitlines(), _MOST_LINES):
        in_table = (in_table or ("SCLK" in line and "Perf" in line)) and not _ROCM_TITLE.match(line)
        given = dict(_one_line(line)) if "GPU[" in line[:40] else _rocm_row(line) if in_table else {}
        index = given.pop("index", None)
        if index is not None and len(fields) < _MOST_CARDS:
            card = fields.setdefault(f"card{index}", {})
            for name, value in given.items():
                card.setdefault(name, value)
        if match := _ROCM_DRIVER.match(line):
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


def _rocm_row(line: str) -> dict[str, str]:
    """One card of the table; a cell that cannot be told from its neighbour is left out."""
    start = _ROCM_ROW.match(line)
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


_MOST_AGENTS = 512
_AGENT = re.compile(r"(?m)^Agent \d{1,4}[ \t]{0,40}$")
_POOL = re.compile(r"COARSE GRAINED\s{1,40}Size:\s{1,40}(\d{1,15})\(0x[0-9a-f]+\) KB")


def is_rocminfo(text: str) -> bool:
    """Whether rocminfo wrote it."""
    return "Marketing Name:" in text and _AGENT.search(text) is not None


def read_agents(text: str) -> Read:
    """The cards, those in parts put together, and the processor's name."""
    agents = [item for _, item in blocks(text, _AGENT, most=_MOST_AGENTS)]
    pairs = [(words_in(agent), agent) for agent in agents]
    cards = [(fields, block) for fields, block in pairs if fields.get("Device Type") == "GPU"]
    devices = [_agent_card(fields, block, index=index) for index, (fields, block) in enumerate(cards)]
    name = next((fields["Marketing Name"] for fields, _ in pairs if _is_processor(fields)), None)
    cpu = Cpu(name=name) if name else None
    return Read(fields={"devices": whole_cards(devices)[0], **telling(cpu=cpu)})


def _is_processor(fields: dict[str, str]) -> bool:
    return fields.get("Device Type") == "CPU" and "Marketing Name" in fields


def _agent_card(fields: dict[str, str], block: str, *, index: int) -> Device:
    isa, uuid = fields.get("Name"), fields.get("Uuid", "").removeprefix("GPU-")
    pool = _POOL.search(block)
    chip = _number(fields.get("Chip ID"))
    clock_mhz, units = _number(fields.get("Max Clock Freq. (MHz)")), _number(fields.get("Compute Unit"))
    is_isa = read_value("amd_isa", isa)
    return Device(
        index=index,
        vendor="amd",
        name=fields.get("Marketing Name"),
        uuid=uuid if re.fullmatch(r"[0-9a-f]{8,32}", uuid) else None,
        pci=_located(_number(fields.get("BDFID")), _number(fields.get("Domain")) or 0),
        pci_id=f"1002:{chip:04x}" if chip and chip < 1 << 16 else None,
        isa=isa if is_isa else None,
        sms=units or None,
        mem_total_bytes=float(pool[1]) * KIB if pool else None,
        clocks=Clocks(sm_max_hz=clock_mhz * MEGA if clock_mhz else None),
        unified_memory=shares_memory(isa) or None,
    )


def _number(text: str | None) -> int | None:
    """What a value begins with: "29857(0x74a1)"."""
    match = re.match(r"\d{1,12}(?!\d)", text or "")
    return int(match.group()) if match else None


def _located(place: int | None, domain: int) -> str | None:
    """A PCI address; of a part the function's place may hold its number."""
    if not place or domain > 0xFFFF:
        return None
    return f"{domain:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
