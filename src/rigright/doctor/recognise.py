"""Which chip of the facts a device is: by its PCI id, its memory and the name that its driver gives."""

from __future__ import annotations

import re
from functools import lru_cache

from rigright.base.errors import maybe
from rigright.facts.chips import Chip, chips
from rigright.facts.find import match_chip
from rigright.machine.device import Device

_LEAST_SEEN, _MOST_SEEN = 0.86, 1.02  # a driver's total against the advertised size
_VIRTUAL = re.compile(
    r"GRID |vGPU|-\d{1,3}(?:[ABCQ]|CME|ME)\Z"
)  # a part of a card that a hypervisor hands out


def chip_of(device: Device) -> Chip | None:
    """The chip, or None where nothing known answers to it surely."""
    if _VIRTUAL.search(device.name or ""):
        return None
    # what its name means; a name that could be several things means none
    named = _meant(device.name, None if device.unified_memory else device.mem_total_bytes)
    listed = [chip for chip in chips() if device.pci_id and device.pci_id in chip.pci_ids]
    if named is not None and (named in listed or not listed):
        return named
    sized = [chip for chip in listed if _has_room(chip, device.mem_total_bytes)] or listed
    alike = [chip for chip in sized if _has_units(chip, device.sms)] or sized
    return alike[0] if len(alike) == 1 else named


@lru_cache(maxsize=256)
def _meant(name: str | None, total_bytes: float | None) -> Chip | None:
    """Cards of one machine mostly bear one name: it is read once."""
    return maybe(lambda: match_chip(name, total_bytes=total_bytes).chip if name else None)


def _has_room(chip: Chip, total_bytes: float | None) -> bool:
    """Whether a driver may report this total for the chip."""
    if total_bytes is None or chip.unified_memory:
        return True
    sizes = (chip.mem_bytes / chip.devices, *chip.mem_options_bytes)
    return any(_LEAST_SEEN * size <= total_bytes <= _MOST_SEEN * size for size in sizes)


def _has_units(chip: Chip, units: int | None) -> bool:
    """Whether it has as many compute units as were counted: cards of one number differ in these."""
    return units is not None and chip.sms is not None and round(chip.sms / chip.devices) == units
