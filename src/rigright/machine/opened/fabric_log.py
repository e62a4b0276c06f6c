"""The log of NVIDIA's fabric manager: its version, and the errors of switches that it tells of."""

from __future__ import annotations

import re
from datetime import datetime

from rigright.machine.record import Read, telling
from rigright.machine.system import Event, Software
from rigright.machine.values import address

MARK = re.compile(
    r"^\[\w{3} \d{2} \d{4} \d\d:\d\d:\d\d\] \[(?:INFO|WARN(?:ING)?|ERROR|FATAL|DEBUG)\] \[tid", re.MULTILINE
)
_LINE = re.compile(
    r"^\[(\w{3} \d{2} \d{4} \d\d:\d\d:\d\d)\] \[(?:ERROR|FATAL)\] \[tid \d+\] (.{1,400})", re.MULTILINE
)
_VERSION = re.compile(r"[Ff]abric [Mm]anager version[ :]+(\d{1,4}(?:\.\d{1,4}){1,3})")
_SXID = re.compile(r"NVSwitch (?:non-)?fatal error (\d{1,6})\b.{0,80}?pci bus id ([0-9A-Fa-f:.]{10,18})")
MOST_EVENTS = 400


def read_log(text: str) -> Read:
    """The manager's version, and each error of a switch as the kernel would have told it (SXid)."""
    version = _VERSION.search(text)
    events = []
    for at, value in _LINE.findall(text):
        match = _SXID.search(value)
        if match is not None:
            events.append(
                Event(
                    kind="sxid",
                    text=value.strip(),
                    at_s=_seconds(at),
                    pci=address(match[2]),
                    code=int(match[1]),
                )
            )
    software = Software(fabric_manager=version[1]) if version else None
    return Read(fields=telling(events=tuple(events[-MOST_EVENTS:]), software=software))


def _seconds(stamp: str) -> float | None:
    try:
        return datetime.strptime(stamp, "%b %d %Y %H:%M:%S").timestamp()  # noqa: DTZ007 - as logs are
    except (ValueError, OverflowError):
        return None
