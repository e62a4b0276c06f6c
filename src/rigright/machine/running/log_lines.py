"""What a line of the kernel's log tells: which kind of fault, of which device, and when."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import itemgetter

from rigright.machine.running.kernel_log import Line
from rigright.machine.running.messages import GOOD, KERNEL, kernel_fit
from rigright.machine.system import Event
from rigright.machine.values import address

MOST_PARTS = 12
_OF_FIRMWARE = re.compile(r"(\{\d{1,9}\})?\[Hardware Error\]:\s*(.*)")
_BEFORE_BOOT = "BERT: Error records from previous boot"
_TELLING = re.compile(
    r"event severity:|section[_ ]type:|fru_text:|error_type:|DIMM location:|device_id: [0-9a-f]{4}:"
)
_BOOTS = re.compile(r"Linux version \d|-- (?:Boot [0-9a-f]+|Reboot) --")


def _is_of_earlier_boot(text: str) -> bool:
    """Whether firmware tells of what happened before it started the machine."""
    return text.startswith(_BEFORE_BOOT)


def joined(lines: Iterable[Line]) -> Iterator[Line]:
    """The same lines, where each record of the firmware (APEI, BERT) is one that holds what tells."""
    opened: tuple[str, Line, list[str]] | None = None
    for line in lines:
        match = _OF_FIRMWARE.match(line[2])
        mark = match[1] or "" if match else None
        if match and opened and mark == opened[0]:
            if _TELLING.match(match[2]) and len(opened[2]) < MOST_PARTS:
                opened[2].append(match[2].strip())
            continue
        begins = _is_of_earlier_boot(line[2])
        if opened and (begins or mark is not None or not opened[0]):
            yield _closed(opened[1], opened[0], parts=opened[2])
            opened = None
        if begins:
            opened = ("", line, [])
        elif mark:
            opened = (mark, line, [match[2].strip()] if match and _TELLING.match(match[2]) else [])
        else:
            yield line
    if opened:
        yield _closed(opened[1], opened[0], parts=opened[2])


def _closed(first: Line, mark: str, *, parts: list[str]) -> Line:
    head = "Hardware error from firmware (APEI)" if mark else _BEFORE_BOOT
    return first[0], first[1], f"{head}: {'; '.join(parts)}"


MOST_CHARS = 300
MOST_OF_A_KIND = 400  # the last ones are kept
_WHO = re.compile(r"pid=(?P<pid>\d{1,18})(?:, name=(?P<program>[^,]+))?")
_UNKNOWN = "<unknown>"


def event_of(line: str, scope: str = KERNEL) -> Event | None:
    """The event a line's text tells of, without its time; None where it tells of no fault.

    `scope`: or of no good news, such as a link that came up.
    """
    pair = kernel_fit(line, scope)
    if pair is None:
        return None
    row, match = pair
    fields, who = match.groupdict(), _WHO.search(line)
    pid = fields.get("pid") or (who["pid"] if who else None)
    program = fields.get("program") or (who["program"] if who else None)
    code = fields.get("code")
    return Event(
        kind=row.kind,
        text=line.strip()[:MOST_CHARS],
        pci=address(fields.get("pci")),
        code=int(code[:9]) if code else None,
        pid=int(pid[:9]) if pid else None,
        program=None if program in {None, _UNKNOWN} else str(program).strip(),
    )


def events_of(lines: Iterable[Line]) -> tuple[Event, ...]:
    """The events of lines with their times, oldest first; the last of each kind."""
    rows: dict[str, deque[tuple[int, Line, Event]]] = {}
    place = boots = 0  # events that stand before the last start of the machine
    for line in joined(lines):
        if not line[2]:
            continue
        if _BOOTS.match(line[2]) is not None:
            boots = place
        event = event_of(line[2]) or event_of(line[2], GOOD)
        if event is not None:
            rows.setdefault(event.kind, deque(maxlen=MOST_OF_A_KIND)).append((place, line, event))
            place += 1
    if "link" not in rows:  # links that come up matter where they went down
        rows.pop("link_up", None)
    order = sorted((row for events in rows.values() for row in events), key=itemgetter(0))
    return tuple(
        replace(event, at_s=at_s, up_s=up_s, earlier=(place < boots or _is_of_earlier_boot(text)) or None)
        for place, (at_s, up_s, text), event in order
    )
