"""The system's own count of its memory: `/proc/meminfo`, in bytes."""

from __future__ import annotations

import re

from rigright.base.units import KIB
from rigright.machine.world import World

_LINE = re.compile(r"^(\w[\w()]*):[ \t]+(\d{1,18})( kB)?[ \t]*$", re.MULTILINE)


def meminfo(world: World) -> dict[str, float]:
    """Name -> bytes; for lines without a unit the bare number."""
    text = world.text("/proc/meminfo", 65_536) or ""
    return {name: float(value) * (KIB if unit else 1) for name, value, unit in _LINE.findall(text)}


def size_in(text: str, name: str) -> float | None:
    """One of them, in its text: much cheaper than all of them."""
    match = _LINE.match(text, max(text.find(f"{name}:"), 0))
    return float(match[2]) * (KIB if match[3] else 1) if match and match[1] == name else None
