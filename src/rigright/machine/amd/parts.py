"""Cards that are cut into parts (MI300 and later in DPX, TPX, QPX, CPX): tools list each part as a card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain

from rigright.base.units import GIB
from rigright.machine.device import Device, Slice

_MOST = {"gfx942": (256 * GIB, 304), "gfx950": (288 * GIB, 256)}  # memory and units of the largest whole card


def whole_cards(devices: Iterable[Device]) -> tuple[tuple[Device, ...], Mapping[int, int]]:
    """The cards, and for each number of the tool the place of the card it belongs to."""
    result = tuple(devices)
    groups: dict[str, list[Device]] = {}
    mark = ""
    for device in result:
        mark = mark if mark and _follows(device) else _card_of(device, result)
        groups.setdefault(mark, []).append(device)
    places = {item.index: place for place, group in enumerate(groups.values()) for item in group}
    whole = (_whole(group) for group in groups.values())
    return tuple(replace(item, index=place) for place, item in enumerate(whole)), places


def _follows(device: Device) -> bool:
    """Whether it is a further part of the card before it, in a list without addresses."""
    return device.pci is None and any(item.gpu_instance > 0 for item in device.slices)


def _card_of(device: Device, devices: tuple[Device, ...]) -> str:
    """A mark of the card: its address; of a part, where function 0 is listed too, the one of that."""
    if device.pci is None:
        return f"#{device.index}"
    first = f"{device.pci[:-1]}0"
    return first if any(item.pci == first for item in devices) else device.pci


def _whole(group: list[Device]) -> Device:
    """One card of its parts; the first of them tells of the card as a whole."""
    first = group[0]
    if len(group) == 1:
        return first
    slices = list(chain.from_iterable(device.slices for device in group))
    profile = next((item.profile for item in slices if item.profile), None)
    most_bytes, most_units = _MOST.get(first.isa or "", (None, None))
    total = _sum(first.mem_total_bytes, len(group), most=most_bytes, isa=first.isa)
    units = _sum(first.sms, len(group), most=most_units, isa=first.isa)
    used = first.mem_used_bytes
    # those of all parts; None where nobody told of any
    known = [device.programs for device in group if device.programs is not None]
    return replace(
        first,
        mem_total_bytes=total,
        mem_used_bytes=used if total == first.mem_total_bytes else None,
        mem_free_bytes=first.mem_free_bytes if total == first.mem_total_bytes else None,
        sms=None if units is None else int(units),
        programs=tuple(dict.fromkeys(chain.from_iterable(known))) if known else None,
        slices=tuple(
            Slice(
                gpu_instance=place,
                uuid=device.uuid,
                profile=profile,
                mem_total_bytes=None if total is None else total / len(group),
            )
            for place, device in enumerate(group)
        ),
    )


def _sum(value: float | None, count: int, *, most: float | None, isa: str | None) -> float | None:
    """Of the whole card: some versions tell of each part what it has, others what the card has."""
    if value is None or isa is None or (most is not None and value * count > most):
        return value
    return value * count
