"""Intel: cards that xpu-smi lists, or that the kernel drives; graphics inside a processor is none."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from rigright.base.bounded import json_object
from rigright.base.units import KILO, MEGA
from rigright.base.words import say
from rigright.machine.cells import scaled_of
from rigright.machine.device import Device, Power, Thermal
from rigright.machine.filled import devices_filled
from rigright.machine.intel import document_of, listed, read_list
from rigright.machine.pci import drm_folders, link_at, slot_side
from rigright.machine.record import Read, Unseen
from rigright.machine.world import World

_INTEL = "0x8086"
_IN_PROCESSOR = re.compile(r"0000:00:02\.\d")
_MILLI, _MICRO = 1 / KILO, 1 / MEGA


def read(world: World) -> Read:
    """Every card of Intel's."""
    seen = _cards(world)
    if world.is_live and not seen:
        return Read()
    reply = world.run("xpu-smi", "discovery", "-j")
    first = {} if reply is None else document_of(reply.out)
    if not first:
        why = say("xpu-smi not found: names and memory of Intel GPUs are missing")
        missing = Unseen(what="devices", why=why, see="xpu-smi discovery")
        return Read(fields={"devices": seen}, unseen=(missing,)) if seen else Read()
    # the list, each device in full, and its figures
    more, now = [], {}
    for place, row in enumerate(listed(first)):
        index = row.get("device_id", place)
        full = world.run("xpu-smi", "discovery", "-d", str(index), "-j")
        stats = world.run("xpu-smi", "stats", "-d", str(index), "-j")
        more += [] if full is None else [document_of(full.out)]
        if stats is not None and isinstance(index, int):
            now[index] = json_object(stats.out)
    fields = read_list(first, *more, now=now).fields
    return Read(fields={**fields, "devices": devices_filled(fields["devices"], seen)})


def _cards(world: World) -> tuple[Device, ...]:
    """Those of the display system that stand on a bus of their own."""
    devices = []
    for folder in drm_folders(world, _INTEL):
        place = (world.link(folder) or "").rpartition("/")[2]
        if not _IN_PROCESSOR.match(place):
            devices.append(_card(world, folder, place=place))
    ordered = sorted(devices, key=lambda device: device.pci or "")
    return tuple(replace(device, index=index) for index, device in enumerate(ordered))


def _card(world: World, folder: str, *, place: str) -> Device:
    device = (world.text(f"{folder}/device") or "").removeprefix("0x")
    return Device(
        index=0,
        vendor="intel",
        pci=place or None,
        pci_id=f"8086:{device}" if device else None,
        pcie=link_at(world, slot_side(world, folder)),
        **_sensors(world, folder),
    )


def _sensors(world: World, folder: str) -> dict[str, Any]:
    """Limits and heat of its hwmon: i915 tells of the card first, xe of the package second."""
    chip = next(iter(world.names(f"{folder}/hwmon")), None)
    if chip is None:
        return {}
    place = f"{folder}/hwmon/{chip}"

    def first(names: tuple[str, ...], scale: float) -> float | None:
        read = (scaled_of(world, f"{place}/{name}", scale=scale) for name in names)
        return next((value for value in read if value), None)

    heat = {world.text(f"{place}/temp{at}_label") or "": f"temp{at}_input" for at in range(1, 5)}
    return {
        "power": Power(limit_w=first(("power1_max", "power2_max", "power1_cap", "power2_cap"), _MICRO)),
        "thermal": Thermal(
            gpu_c=first((heat.get("pkg", "temp1_input"),), _MILLI),
            mem_c=first((heat["vram"],), _MILLI) if "vram" in heat else None,
        ),
    }
