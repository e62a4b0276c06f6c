"""Tables of nvidia-smi: without arguments, `--query-gpu`, `dmon`, `pmon`, `mig -lgi`; and that of gpustat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Any

from rigright.machine.device import Device, Program, Slice
from rigright.machine.nvidia_smi.cards import TABLE, CardText, device_of, program_of, software_of
from rigright.machine.record import Read
from rigright.machine.values import cells_of, csv_rows, heads_of, read_value, words

_MOST_ROWS = 512
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


def is_sheet(text: str) -> bool:
    """Whether its first line names fields of `--query-gpu`."""
    heads = heads_of(text.lstrip().partition("\n")[0])
    if any(head.endswith(".aip") for head in heads):  # of hl-smi
        return False
    return len(heads) > 1 and len(words(TABLE, "query").intersection(heads)) >= min(2, len(heads))


def read_sheet(text: str) -> Read:
    """The cards of a CSV with its line of heads."""
    rows = csv_rows(text, marks=_MARKS, most=_MOST_ROWS)
    devices = tuple(
        device_of(CardText(form="query", values=row), _index(row, place)) for place, row in enumerate(rows)
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
    cells = [cells_of(line) for line in lines]
    if len({len(row) for row in cells}) != 1 or len(cells[0]) < 3 or not any(map(_CARD.match, cells[0])):
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


def _counts(column: list[str]) -> bool:
    """Whether it numbers the cards, be it again and again."""
    once = list(dict.fromkeys(column))
    is_again = len(once) > 1 and column == (once * len(column))[: len(column)]
    return once == [str(number) for number in range(len(once))] and (is_again or len(column) == 1)


def _index(row: dict[str, str], place: int) -> int:
    value = read_value("count", row.get("index"))
    return value if isinstance(value, int) else place


_MOST_CARDS = 512
_MOST_PROGRAMS = 10_000
_COLUMNS = {  # of dmon -> the words of a query
    "pwr": "power.draw",
    "gtemp": "temperature.gpu",
    "mtemp": "temperature.memory",
    "sm": "utilization.gpu",
    "mem": "utilization.memory",
    "mclk": "clocks.mem",
    "pclk": "clocks.sm",
    "fb": "memory.used",
    "tviol": "clocks_event_reasons.sw_thermal_slowdown",
}
_VIOLATED = {"0": "Not Active", "1": "Active"}
_DMON_HEAD = re.compile(r"^# ?gpu +(?=.*\b(?:pwr|sm|mclk|fb|rxpci|pid)\b)(.*)$", re.MULTILINE)
_DMON_ROW = re.compile(r"^ +(\d{1,3}) +(\S.*)$", re.MULTILINE)
_APPS = re.compile(r"^(?=[\w, \[\]]*\bgpu_uuid\b)(?=[\w, \[\]]*\bpid\b)[\w, \[\]]{8,200}$", re.MULTILINE)
_INSTANCES = re.compile(r"^\| GPU instances:", re.MULTILINE)
_INSTANCE = re.compile(
    r"^\|\s+(\d{1,3})\s+MIG (\S{1,20})\s+\d{1,3}\s+(\d{1,3})\s+\d{1,2}:\d{1,2}\s+\|", re.MULTILINE
)
_VERSION = re.compile(r"^(DRIVER|KMD|CUDA(?: UMD)?) version +: (\S+)", re.MULTILINE | re.IGNORECASE)
_SMI_VERSION = re.compile(r"^NVIDIA-SMI version +: ", re.MULTILINE)
_GPUSTAT = re.compile(
    r"^\[(\d{1,3})\] (\S.{0,60}?) *\| *(\d{1,3}).{0,2}C, *(?:\d{1,3} %, *)?(\d{1,3}) %.{0,60}?"
    r"\| *(\d{1,7}) / (\d{1,7}) MB",
    re.MULTILINE,
)


def is_monitor(text: str) -> bool:
    """Whether it holds one of them."""
    return any(form.search(text) for form in (_DMON_HEAD, _APPS, _INSTANCES, _SMI_VERSION, _GPUSTAT))


def read_monitor(text: str) -> Read:
    """What the newest row of each card tells, and the programs on it."""
    devices = (*_dmon_cards(text), *_of_gpustat(text), *_of_apps(text), *_cut(text))
    programs = dict(_pmon_programs(text))
    known = {device.index for device in devices}
    kept = tuple(
        Device(index=index, vendor="nvidia", programs=given)
        for index, given in programs.items()
        if index not in known
    )
    devices = tuple(
        replace(device, programs=programs.get(device.index, device.programs)) for device in devices
    )
    versions = {name.lower(): value for name, value in _VERSION.findall(text) if _SMI_VERSION.search(text)}
    driver = versions.get("kmd", versions.get("driver"))
    software = software_of(driver=driver, cuda=versions.get("cuda umd", versions.get("cuda")))
    return Read(fields={"devices": (*devices, *kept), "software": software})


def _tables(text: str, wanted: Callable[[list[str]], bool]) -> Iterator[tuple[list[str], int, list[str]]]:
    """Rows below a head: its columns, the card, the cells."""
    heads = [match for match in _DMON_HEAD.finditer(text) if wanted(match[1].split())]
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        for index, rest in _DMON_ROW.findall(text[head.end() : end]):
            yield head[1].split(), int(index), rest.split()


def _dmon_cards(text: str) -> tuple[Device, ...]:
    newest: dict[int, dict[str, str]] = {}
    for names, index, cells in _tables(text, lambda names: "pid" not in names):
        if len(cells) == len(names) and (index in newest or len(newest) < _MOST_CARDS):
            fields = {
                _COLUMNS[name]: _VIOLATED.get(cell, cell) if name == "tviol" else cell
                for name, cell in zip(names, cells, strict=True)
                if name in _COLUMNS
            }
            newest[index] = {**newest.get(index, {}), **fields}
    return tuple(
        device_of(CardText(form="query", values=values), index) for index, values in sorted(newest.items())
    )


def _pmon_programs(text: str) -> dict[int, tuple[Program, ...]]:
    """The programs of each card, of `pmon`."""
    programs: dict[int, dict[int, Program]] = {}
    for names, index, cells in _tables(text, lambda names: "pid" in names):
        fields = dict(zip(names, cells, strict=False))
        program = program_of(fields.get("pid"), name=cells[-1], kind=fields.get("type"), mem=fields.get("fb"))
        mine = programs.setdefault(index, {}) if len(programs) < _MOST_CARDS else {}
        if program is not None and len(mine) < _MOST_PROGRAMS:
            mine[program.pid] = program
    return {index: tuple(given.values()) for index, given in programs.items()}


def _of_gpustat(text: str) -> tuple[Device, ...]:
    devices: dict[int, Device] = {}
    for index, name, heat, busy, used, total in _GPUSTAT.findall(text)[:_MOST_CARDS]:
        values = {
            "name": name,
            "temperature.gpu": heat,
            "utilization.gpu": busy,
            "memory.used": f"{used} MiB",
            "memory.total": f"{total} MiB",
        }
        devices[int(index)] = device_of(CardText(form="query", values=values), int(index))
    return tuple(devices.values())


def _of_apps(text: str) -> tuple[Device, ...]:
    """The programs of each card, of `--query-compute-apps` with the cards' UUIDs."""
    head = _APPS.search(text)
    if head is None:
        return ()
    names = [name.partition(" [")[0].strip() for name in head[0].split(",")]
    result: dict[str, tuple[Program, ...]] = {}
    for line in text[head.end() :].strip().splitlines()[:_MOST_PROGRAMS]:
        fields = dict(zip(names, map(str.strip, line.split(",")), strict=False))
        mem = fields.get("used_gpu_memory", fields.get("used_memory"))
        program = program_of(
            fields.get("pid"), name=fields.get("process_name", fields.get("name")), kind="C", mem=mem
        )
        uuid = fields.get("gpu_uuid", "")
        if program is not None and uuid.startswith("GPU-") and (uuid in result or len(result) < _MOST_CARDS):
            result[uuid] = (*result.get(uuid, ()), program)
    return tuple(
        Device(index=place, vendor="nvidia", uuid=uuid, programs=programs)
        for place, (uuid, programs) in enumerate(result.items())
    )


def _cut(text: str) -> tuple[Device, ...]:
    """The parts of each card, of `mig -lgi`."""
    slices: dict[int, tuple[Slice, ...]] = {}
    for index, profile, instance in _INSTANCE.findall(text)[:_MOST_CARDS] if _INSTANCES.search(text) else ():
        part = Slice(gpu_instance=int(instance), profile=profile)
        slices[int(index)] = (*slices.get(int(index), ()), part)
    return tuple(
        Device(index=index, vendor="nvidia", mig=True, slices=parts) for index, parts in slices.items()
    )


_HEAD = re.compile(r"NVIDIA-SMI \S+\s+(?:Driver|KMD) Version: ?(\S+)(?:\s+CUDA (?:UMD )?Version: ?(\S+))?")
_NAME = re.compile(
    r"\|\s*(\d{1,3})\s+(\S.{0,60}?)\s+(On|Off|N/A|ERR!|WDDM|TCC|MCDM)(?:/\S+)?\s*"
    r"\|\s*([0-9A-Fa-f:.]+|N/A)\s+(\S+)\s*\|\s*([^|]{1,40}?)\s*\|"
)
_USE = re.compile(
    r"\|\s*(\S+)\s+(\S+?)C?\s+(\S+)\s+(\S+?)W? /\s*(\S+?)W?\s*"
    r"\|\s*(?:(\S+) /\s*(\S+)|[^|]{1,40}?)\s*\|\s*(\S+?)\s+(.*?)\s*\|"
)
_MIG = re.compile(r"\|\s+\|\s+\|\s*(Enabled|Disabled)(\*?)\s*\|")
_SLICE = re.compile(r"\|\s*(\d{1,3})\s+(\d{1,3})\s+(\d{1,3}|N/A)\s+\d{1,3}\s*\|\s*(\S+) /\s*(\S+)\s*\|")
_PROGRAM = re.compile(
    r"\|\s*(\d{1,3})\s+(?:(?:N/A|\d{1,3})\s+(?:N/A|\d{1,3})\s+)?(\d{1,10})\s+(C|G|C\+G|M\+C)\s+"
    r"(\S.{0,200}?)\s+(\d+MiB|N/A)\s*\|"
)
_UNTOLD = re.compile(r"\|\s*(\d{1,3})\s+(?:N/A\s+N/A\s+)?Not Supported\s*\|")
_NO_PROGRAMS = "No running processes found"
_STATES = MappingProxyType({"On": "Enabled", "Off": "Disabled"})


@dataclass(frozen=True, slots=True)
class _CardLines:
    """The lines of one card."""

    index: int
    values: dict[str, str]


def is_picture(text: str) -> bool:
    """Whether it is that table."""
    return _HEAD.search(text) is not None and "|" in text


def read_picture(text: str) -> Read:
    """The cards of the first such table; names may be cut short in it."""
    lines = [stripped for line in text.splitlines() if (stripped := line.strip())]
    head = _HEAD.search(text)
    driver, cuda = head.groups() if head else (None, None)
    programs = _programs(lines)
    slices = _slices(lines)
    devices = tuple(
        _device(row, programs=programs.get(row.index), slices=slices.get(row.index, ()))
        for row in _rows(lines)
    )
    if _NO_PROGRAMS in text or programs:
        silent = {int(match.group(1)) for line in lines if (match := _UNTOLD.match(line))}
        devices = tuple(
            replace(device, programs=()) if device.programs is None and device.index not in silent else device
            for device in devices
        )
    return Read(fields={"devices": devices, "software": software_of(driver=driver, cuda=cuda)})


def _rows(lines: list[str]) -> list[_CardLines]:
    """Each card once, from its two lines, and from the third that tells of MIG."""
    card_lines: dict[int, _CardLines] = {}
    last: _CardLines | None = None
    for line, below in pairwise([*lines, ""]):
        name, use, mig = _NAME.match(line), _USE.match(below), _MIG.match(line)
        if name and use and len(card_lines) < _MOST_CARDS:
            # the two lines of a card under the words of a query
            mode, errors = name.group(3), name.group(6)
            last = _CardLines(
                int(name.group(1)),
                {
                    "name": name.group(2),
                    "pci.bus_id": name.group(4),
                    "persistence_mode": _STATES.get(mode, "N/A"),
                    "display_active": _STATES.get(name.group(5), "N/A"),
                    "ecc.mode.current": "Enabled" if errors.isdecimal() else _STATES.get(errors, errors),
                    "ecc.errors.uncorrected.volatile.total": errors,
                    "fan.speed": use.group(1),
                    "temperature.gpu": use.group(2),
                    "pstate": use.group(3),
                    "power.draw": use.group(4),
                    "power.limit": use.group(5),
                    "memory.used": use.group(6) or "N/A",
                    "memory.total": use.group(7) or "N/A",
                    "utilization.gpu": use.group(8),
                    "compute_mode": use.group(9),
                },
            )
            card_lines.setdefault(last.index, last)
        elif mig and last is not None:
            last.values.update(_mig(*mig.groups()))
    return list(card_lines.values())


def _mig(now: str, pending: str) -> dict[str, str]:
    """The mode, and what a star beside it says: that it changes at the next reset."""
    other = "Disabled" if now == "Enabled" else "Enabled"
    return {"mig.mode.current": now, "mig.mode.pending": other if pending else now}


def _device(row: _CardLines, *, programs: tuple[Program, ...] | None, slices: tuple[Slice, ...]) -> Device:
    return device_of(CardText(form="query", values=row.values, programs=programs, slices=slices), row.index)


def _programs(lines: list[str]) -> dict[int, tuple[Program, ...]]:
    """Who holds memory of each card."""
    programs: dict[int, tuple[Program, ...]] = {}
    for match in [match for line in lines if (match := _PROGRAM.match(line))][:_MOST_PROGRAMS]:
        card, pid, kind, name, mem = match.groups()
        program = program_of(pid, name=name, kind=kind, mem=mem)
        programs[int(card)] = (*programs.get(int(card), ()), *(() if program is None else (program,)))
    return programs


def _slices(lines: list[str]) -> dict[int, tuple[Slice, ...]]:
    """The MIG instances of each card."""
    slices: dict[int, tuple[Slice, ...]] = {}
    for match in [match for line in lines if (match := _SLICE.match(line))][:_MOST_CARDS]:
        card, instance, inner, used, total = match.groups()
        value: Any = {
            "compute_instance": read_value("count", inner),
            "mem_used_bytes": read_value("bytes", used),
            "mem_total_bytes": read_value("bytes", total),
        }
        slices[int(card)] = (*slices.get(int(card), ()), Slice(gpu_instance=int(instance), **value))
    return slices
