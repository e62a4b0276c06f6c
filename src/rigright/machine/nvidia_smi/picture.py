"""The table that nvidia-smi prints without arguments, which is what people paste."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from rigright.machine.device import Device, Program, Slice
from rigright.machine.device_text.values import read_value
from rigright.machine.nvidia_smi.cards import CardText, device_of, program_of, software_of
from rigright.machine.record import Read

_MOST_ROWS = 512
_MOST_PROGRAMS = 10_000
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
        if name and use and len(card_lines) < _MOST_ROWS:
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
    for match in [match for line in lines if (match := _SLICE.match(line))][:_MOST_ROWS]:
        card, instance, inner, used, total = match.groups()
        value: Any = {
            "compute_instance": read_value("count", inner),
            "mem_used_bytes": read_value("bytes", used),
            "mem_total_bytes": read_value("bytes", total),
        }
        slices[int(card)] = (*slices.get(int(card), ()), Slice(gpu_instance=int(instance), **value))
    return slices
