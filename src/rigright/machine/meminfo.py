"""The system's own count of its memory: `/proc/meminfo`, in bytes."""

from __future__ import annotations

import re

from rigright.base.units import KIB
from rigright.machine.world import World

_LINE = re.compile(r"(\w[\w()]*):\s+(\d{1,18})( kB)?\s*\Z")


def meminfo(world: World) -> dict[str, float]:
    """Name -> bytes; for lines without a unit the bare number."""
    found = {}
    for line in (world.text("/proc/meminfo", 65_536) or "").splitlines():
        match = _LINE.match(line)
        if match:
            found[match.group(1)] = float(match.group(2)) * (KIB if match.group(3) else 1)
    return found
