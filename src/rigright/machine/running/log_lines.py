"""What a line of the kernel's log tells: which kind of fault, of which device, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from rigright.base.tables import DATA, read_rows, text
from rigright.machine.system import Event

MOST_CHARS = 300
MOST_OF_A_KIND = 400  # the last ones are kept
_PLACES = {  # what a pattern of the table may name
    "<pci>": r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)",
    "<process>": r"[Pp]rocess (?P<pid>\d+) \((?P<program>[^)]*)\)",
}
_WORTH_A_LOOK = re.compile(  # words without which no pattern of the table fits: most lines have none
    r"NVRM|SXid|amdgpu|nvidia|nouveau|i915|xe |knvlink|AER|PCIe Bus|Hardware Error|achine [Cc]heck|mce:"
    r"|EDAC|emperature|throttled|ut of memory|blocked for|lockup|LOCKUP|rcu:|nvme|I/O error"
    r"|medium error|target error|ata\d|EXT4-fs|XFS|BTRFS|read-only|ink (?:is )?[Dd]own|ink DOWN|NETDEV"
    r"|thermal|ockdown|unsigned|Loading of"
)
_WHO = re.compile(r"pid=(?P<pid>\d+)(?:, name=(?P<program>[^,]+))?")
_UNKNOWN = "<unknown>"


def event_of(line: str) -> Event | None:
    """The event a line's text tells of, without its time; None where it tells of no fault."""
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
    """A PCI address as sysfs writes it: four digits of domain, and a function."""
    if said is None:
        return None
    domain, _, rest = said.lower().partition(":")
    return f"{domain[-4:]}:{rest}" + ("" if "." in rest else ".0")


def events_of(lines: Iterable[tuple[float | None, float | None, str]]) -> tuple[Event, ...]:
    """The events of (seconds since 1970, since boot, text), oldest first; the last of each kind."""
    found: dict[str, list[Event]] = {}
    order: list[Event] = []
    for at_s, up_s, line in lines:
        event = event_of(line)
        if event is None:
            continue
        timed = replace(event, at_s=at_s, up_s=up_s)
        found.setdefault(timed.kind, []).append(timed)
        order.append(timed)
    kept = {id(event) for events in found.values() for event in events[-MOST_OF_A_KIND:]}
    return tuple(event for event in order if id(event) in kept)
