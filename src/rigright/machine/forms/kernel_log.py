"""The kernel's log as dmesg, journalctl -k or a file of syslog hold it."""

from __future__ import annotations

import re
from itertools import islice

from rigright.machine.record import Read
from rigright.machine.running.kernel_log import parsed
from rigright.machine.running.log_lines import events_of

_STAMPED = re.compile(
    r"(?:<\d+>)?\[\s*\d+\.\d+\]|\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\]|.{10,40} \S+ kernel: "
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d+[+-]\d\d:\d\d "
)
_LOOKED_AT = 20
_MOST_UNSTAMPED = 4  # lines of one message that ran over


def matches(text: str) -> bool:
    """Whether most of its first lines bear the stamp of a log."""
    first = [line for line in islice(text.splitlines(), _LOOKED_AT) if line.strip()]
    stamped = sum(_STAMPED.match(line) is not None for line in first)
    return stamped > 0 and stamped >= len(first) - _MOST_UNSTAMPED


def read(text: str) -> Read:
    """The faults it tells of."""
    return Read(fields=(("events", events_of(parsed(text))),))
