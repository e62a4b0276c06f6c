"""Space left on file systems.

A full file system ends a run at its next checkpoint, and a full root keeps services and log-ins from
working. Models and checkpoints are large: a 70B model in bf16 takes 141 GB, its training state eight times
that.

Fault: less than 1 % or 1 GiB left of one that is written to. Warning: less than 5 % and less than 50 GiB.
Read-only ones are left out. Source: thresholds of node_exporter's standard alerts, lowered for large disks.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import GIB, show_bytes
from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, seen, step
from rigright.machine.host import Mount

TITLE = say("space on file systems")
FULL, LOW = 0.01, 0.05
FULL_BYTES, LOW_BYTES = GIB, 50 * GIB
SMALL_BYTES = 4 * GIB  # /boot and its like
LEFT_OUT = {"tmpfs", "vfat", "9p", "virtiofs"}


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each that is nearly full or does not answer, else one for all."""
    looked, bad = 0, 0
    for mount in case.machine.mounts or ():
        if mount.kind in LEFT_OUT or "ro" in mount.options:
            continue
        if not mount.size_bytes or mount.free_bytes is None:
            yield NotSeen(
                why=say("it did not tell its space in time"),
                see=f"df -h {shlex.quote(mount.path)}",
                about=mount.path,
            )
            continue
        looked += 1
        severity = _judged(mount.size_bytes, mount.free_bytes)
        if severity is not None:
            bad += 1
            yield _finding(mount, severity)
    if looked and not bad:
        yield Fine(says=say("each has room; file systems: {count}", count=looked))


def _judged(size: float, free: float) -> Severity | None:
    share = free / size
    if share < FULL or (free < FULL_BYTES and size > SMALL_BYTES):
        return "fault"
    return "warning" if share < LOW and free < LOW_BYTES else None


def _finding(mount: Mount, severity: Severity) -> Finding:
    free, size = show_bytes(mount.free_bytes or 0.0), show_bytes(mount.size_bytes or 0.0)
    title = say("{path} has {free} left of {size}", path=mount.path, free=free, size=size)
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(title, f"df -h {shlex.quote(mount.path)}"),
        why=say("the next checkpoint or download ends with an error, and may leave half a file"),
        fix=(
            step(
                say("see what is large"),
                f"du -xh --max-depth=2 {shlex.quote(mount.path)} | sort -h | tail -20",
            ),
            step(
                say(
                    "caches of models and packages are often it: ~/.cache/huggingface, pip cache, docker "
                    "system df"
                )
            ),
        ),
        about=mount.path,
    )
