"""What a line of the kernel's log tells: which kind of fault, of which device, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from rigright.base.tables import DATA, read_rows, text
from rigright.machine.running.kernel_log import Line
from rigright.machine.running.log_records import begins_boot, is_of_earlier_boot, joined
from rigright.machine.system import Event

MOST_CHARS = 300
MOST_LOOKED_AT = 500  # of a line: patterns cost more than its length
MOST_OF_A_KIND = 400  # the last ones are kept
_PLACES = {  # what a pattern of the table may name
    "<pci>": r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)",
    "<slot>": r"(?P<pci>(?:[0-9a-fA-F]{4}:)?(?:0x)?[0-9a-fA-F]{2}:(?:0x)?[0-9a-fA-F]{2}\.[0-7])",
    "<process>": r"[Pp]rocess (?P<pid>\d+) \((?P<program>[^)]*)\)",
}
_WORTH_A_LOOK = re.compile(  # words without which no pattern of the table fits: most lines have none
    r"NVRM|SXid|amdgpu|kfd kfd|nvidia|nouveau|i915|xe |GPU HANG|knvlink|AER|PCIe Bus|AMD-Vi|DMAR"
    r"|Hardware Error|ardware error|BERT|achine [Cc]heck|mce:|Memory failure|EDAC|emperature|throttled"
    r"|ut of memory|blocked for|lockup|LOCKUP|INFO: rcu_|nvme|I/O error|medium error|target error|ata\d"
    r"|md/raid|EXT4-fs|XFS|BTRFS|read-only|ink (?:is )?[Dd]own|ink DOWN|link status|NETDEV|mlx\d_core"
    r"|thermal|ockdown|unsigned|Loading of"
)
_WHO = re.compile(r"pid=(?P<pid>\d+)(?:, name=(?P<program>[^,]+))?")
_UNKNOWN = "<unknown>"


def event_of(line: str) -> Event | None:
    """The event a line's text tells of, without its time; None where it tells of no fault."""
    line = line[:MOST_LOOKED_AT]
    if not _WORTH_A_LOOK.search(line):
        return None
    for kind, pattern in _kinds():
        match = pattern.search(line)
        if match is not None:
            return _event(kind, line, told=match.groupdict())
    return None


@cache
def _kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Kinds of fault and the pattern of each, in the order of the table: the first that fits is right."""
    columns = ("kind", "pattern")
    rows = read_rows(DATA / "kernel_lines.csv", dict.fromkeys(columns, text), required=columns)
    return tuple((row["kind"], re.compile(_filled(row["pattern"]))) for row in rows)


def _filled(pattern: str) -> str:
    for name, place in _PLACES.items():
        pattern = pattern.replace(name, place)
    return pattern


def _event(kind: str, line: str, *, told: dict[str, str | None]) -> Event:
    who = _WHO.search(line)
    pid = told.get("pid") or (who["pid"] if who else None)
    program = told.get("program") or (who["program"] if who else None)
    code = told.get("code")
    return Event(
        kind=kind,
        text=line.strip()[:MOST_CHARS],
        pci=_address(told.get("pci")),
        code=int(code[:9]) if code else None,
        pid=int(pid[:9]) if pid else None,
        program=None if program in {None, _UNKNOWN} else str(program).strip(),
    )


def _address(said: str | None) -> str | None:
    """A PCI address as sysfs writes it: a domain of four digits at least, and a function."""
    if said is None:
        return None
    said = said.lower().replace("0x", "")
    domain, _, rest = said.partition(":") if said.count(":") > 1 else ("0000", "", said)
    return f"{domain.lstrip('0').rjust(4, '0')}:{rest}" + ("" if "." in rest else ".0")


def events_of(lines: Iterable[Line]) -> tuple[Event, ...]:
    """The events of lines with their times, oldest first; the last of each kind."""
    found: dict[str, list[Event]] = {}
    order: list[Event] = []
    boots = 0  # events that stand before the last start of the machine
    for at_s, up_s, line in joined(lines):
        if begins_boot(line):
            boots = len(order)
        event = event_of(line)
        if event is None:
            continue
        timed = replace(event, at_s=at_s, up_s=up_s, earlier=is_of_earlier_boot(line) or None)
        found.setdefault(timed.kind, []).append(timed)
        order.append(timed)
    kept = {id(event) for events in found.values() for event in events[-MOST_OF_A_KIND:]}
    return tuple(
        replace(event, earlier=True) if place < boots else event
        for place, event in enumerate(order)
        if id(event) in kept
    )
