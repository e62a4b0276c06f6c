"""The system's own count of its memory: `/proc/meminfo`, in bytes."""

from __future__ import annotations

import re

from rigright.base.units import KIB
from rigright.machine.world import World

_LINE = re.compile(r"^(\w[\w()]*):[ \t]+(\d{1,18})( kB)?[ \t]*$", re.MULTILINE)


def meminfo(world: World) -> dict[str, float]:
    """Name -> bytes; for lines without a unit the bare number."""
    return sizes_of(world.text("/proc/meminfo", 65_536) or "")


def sizes_of(text: str) -> dict[str, float]:
    """The same of its text."""
    return {name: float(told) * (KIB if unit else 1) for name, told, unit in _LINE.findall(text)}
