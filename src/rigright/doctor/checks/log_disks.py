"""Failures of disks and file systems that the kernel wrote down.

An NVMe that times out and is reset, a cable that makes SATA errors, a file system that turned read-only:
loading stalls for seconds, checkpoints are lost.

I/O errors, media errors, damaged file systems, a controller that is down: fault. Resets and timeouts:
warning. Longer ago than a week or before the last boot: one step less. Source: data/kernel_lines.csv.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.happened import events
from rigright.doctor.log_lines import finding, none_told, unseen
from rigright.doctor.record import Case, Verdict, as_root, step
from rigright.machine.system import Event

TITLE = say("the log holds no failures of disks")
_NAME = re.compile(
    r"\b(nvme\d+(?:n\d+)?|mmcblk\d+|(?:sd|vd|xvd)[a-z]{1,2}|ata\d+|(?:md|nbd|loop|fd|sr|dm-)\d+)(?:p?\d+)?\b"
)
_OVER = ("md", "dm-")  # made of disks
_LIGHT = ("loop", "fd", "sr")  # no disks
_GRAVE = (
    "i/o error",
    "medium error",
    "target error",
    "ext4-fs error",
    "corruption",
    "controller is down",
    "read-only",
    "shut",
    "btrfs",
    "crc error",
    "sct ",
    "disk failure",
)


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each disk."""
    closed, fine = unseen(case, "nvme|I/O error|ata[0-9]"), none_told(case, "disk")
    if closed is not None:
        yield closed
    elif fine is not None:
        yield fine
    told = [
        (event, [match[1] for match in _NAME.finditer(event.text)]) for event in events(case, "disk") or []
    ]
    # an array or a mapping that is named beside a disk of its own failed because of that disk
    beneath: dict[str, str] = {}
    for _, names in told:
        disk = next((one for one in names if not one.startswith(_OVER)), None)
        if disk is not None:
            beneath |= {one: disk for one in names if one.startswith(_OVER)}
    groups: dict[str, list[Event]] = {}
    for event, names in told:
        name = next((one for one in names if not one.startswith(_OVER)), next(iter(names), "?"))
        if not name.startswith(_LIGHT):
            groups.setdefault(beneath.get(name, name), []).append(event)
    for name, same in groups.items():
        grave = [one for one in same if any(word in one.text.lower() for word in _GRAVE)]
        title = (
            say("{disk} failed reads or writes", disk=name)
            if grave
            else say("{disk} had to be reset", disk=name)
        )
        seen = name.startswith(("nvme", "sd"))
        tool = f"smartctl -a /dev/{name}" if seen else f"dmesg | grep -F {shlex.quote(name)}"
        yield finding(
            case,
            grave or same,
            title=title,
            why=say("data cannot be read or checkpoints are lost")
            if grave
            else say("loading of data stalls for seconds"),
            fix=(
                step(say("save what is on it")),
                as_root(say("ask the disk itself"), tool),
                step(say("check cable, slot and temperature; change the disk when it comes again")),
            ),
            severity="fault" if grave else "warning",
        )
