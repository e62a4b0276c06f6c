"""What a line of the kernel's log tells: which kind of fault, of which device, and when."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from operator import itemgetter

from rigright.machine.running.kernel_log import Line
from rigright.machine.running.log_records import begins_boot, is_of_earlier_boot, joined
from rigright.machine.running.messages import GOOD, KERNEL, kernel_fit
from rigright.machine.system import Event
from rigright.machine.values import address

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
        if begins_boot(line[2]):
            boots = place
        event = event_of(line[2]) or event_of(line[2], GOOD)
        if event is not None:
            rows.setdefault(event.kind, deque(maxlen=MOST_OF_A_KIND)).append((place, line, event))
            place += 1
    if "link" not in rows:  # links that come up matter where they went down
        rows.pop("link_up", None)
    order = sorted((row for events in rows.values() for row in events), key=itemgetter(0))
    return tuple(
        replace(event, at_s=at_s, up_s=up_s, earlier=(place < boots or is_of_earlier_boot(text)) or None)
        for place, (at_s, up_s, text), event in order
    )
