"""Faults that the kernel or a driver told of: XIDs, bus and memory errors, killed programs, failing disks."""

from __future__ import annotations

from rigright.base.words import say
from rigright.machine.record import Read, Unseen
from rigright.machine.running.kernel_log import kernel_log
from rigright.machine.running.log_lines import events_of
from rigright.machine.world import World


def read(world: World) -> Read:
    """All that the log still holds."""
    lines = kernel_log(world)
    if lines is None:
        why = say("no permission to read the kernel log")
        return Read(unseen=(Unseen(what="events", why=why, see="sudo dmesg"),))
    return Read(fields={"events": events_of(lines)})
