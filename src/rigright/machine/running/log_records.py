"""Records of the firmware that the log spreads over many lines, each as one line; and where a boot begins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rigright.machine.running.kernel_log import Line

MOST_PARTS = 12
_OF_FIRMWARE = re.compile(r"(\{\d{1,9}\})?\[Hardware Error\]:\s*(.*)")
_BEFORE_BOOT = "BERT: Error records from previous boot"
_TELLING = re.compile(
    r"event severity:|section[_ ]type:|fru_text:|error_type:|DIMM location:|device_id: [0-9a-f]{4}:"
)
_BOOTS = re.compile(r"Linux version \d|-- (?:Boot [0-9a-f]+|Reboot) --")


def begins_boot(text: str) -> bool:
    """Whether the machine was started here: what stands before is of an earlier run."""
    return _BOOTS.match(text) is not None


def is_of_earlier_boot(text: str) -> bool:
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
        begins = is_of_earlier_boot(line[2])
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
