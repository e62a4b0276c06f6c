"""What amdgpu counts of errors: /sys/class/drm/cardN/device/ras, and the pages of memory it found bad."""

from __future__ import annotations

import re
from collections import Counter

from rigright.base.units import MIB
from rigright.machine.device import Ecc, Retired
from rigright.machine.world import World

_COUNTS = "_err_count"
_LINE = re.compile(r"(ue|ce|de):\s*(\d{1,15})")  # uncorrected, corrected, deferred
_PAGE = re.compile(r"(?m)^\s*0x[0-9a-f]{1,16}\s*:\s*0x[0-9a-f]{1,16}\s*:\s*([RPF])\s*$")
_MOST_BYTES = 8 * MIB


def ecc_of(world: World, folder: str) -> Ecc | None:
    """Errors since the driver loaded, of all parts of the card that count them."""
    fields: Counter[str] = Counter()
    seen = False
    for name in world.names(f"{folder}/ras"):
        if name.endswith(_COUNTS):
            counts = _LINE.findall(world.text(f"{folder}/ras/{name}") or "")
            seen = seen or bool(counts)
            fields.update({kind: int(value) for kind, value in counts})
    if not seen:
        return None
    return Ecc(
        on=True,
        corrected_volatile=fields["ce"],
        uncorrected_volatile=fields["ue"],
        deferred_volatile=fields.get("de"),
    )


def bad_pages_of(world: World, folder: str) -> Retired | None:
    """Pages found bad in the life of the card: out of use, waiting for it, or impossible to take out."""
    text = world.text(f"{folder}/ras/gpu_vram_bad_pages", _MOST_BYTES)
    if text is None:
        return None
    states = Counter(_PAGE.findall(text))
    return Retired(pages_bad=states.total(), pages_waiting=states["P"], pages_stuck=states["F"])
