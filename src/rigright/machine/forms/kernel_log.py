"""The kernel's log as dmesg, journalctl -k or a file of syslog hold it."""

from __future__ import annotations

from itertools import islice

from rigright.machine.record import Read
from rigright.machine.running.kernel_log import is_stamped, parsed
from rigright.machine.running.log_lines import events_of, is_worth_a_look

_LOOKED_AT = 20
_MOST_UNSTAMPED = 4  # lines of one message that ran over


def matches(text: str) -> bool:
    """Whether most of its first lines bear the stamp of a log."""
    first = [line for line in islice(text.splitlines(), _LOOKED_AT) if line.strip()]
    stamped = sum(is_stamped(line) for line in first)
    return stamped > 0 and stamped >= len(first) - _MOST_UNSTAMPED


def read(text: str) -> Read:
    """The faults it tells of."""
    return Read(fields=(("events", events_of(parsed(text, wanted=is_worth_a_look))),))
