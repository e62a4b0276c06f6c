"""Intel: cards that xpu-smi lists, or that the kernel drives; graphics inside a processor is none."""

from __future__ import annotations

import re
from dataclasses import replace

from rigright.base.units import KILO, MEGA
from rigright.base.words import say
from rigright.machine.amd.kernel import scaled
from rigright.machine.device import Device, PcieLink, Power, Thermal
from rigright.machine.filled import devices_filled
from rigright.machine.intel.answers import listed, parsed, read_list
from rigright.machine.record import Read, Unseen
from rigright.machine.told.values import read_value
from rigright.machine.world import World

_DRM = "/sys/class/drm"
_CARD = re.compile(r"card\d+\Z")
_INTEL = "0x8086"
_IN_PROCESSOR = re.compile(r"0000:00:02\.\d")
_MILLI, _MICRO = 1 / KILO, 1 / MEGA


def read(world: World) -> Read:
    """Every card of Intel's."""
    seen = _cards(world)
    if world.is_live and not seen:
        return Read()
    said = world.run("xpu-smi", "discovery", "-j")
    first = None if said is None else parsed(said.out)
    if not listed(first):
        return Read(fields=(("devices", seen),), unseen=(_without_tool(),)) if seen else Read()
    told = dict(_asked(world, first).fields)
    devices: tuple[Device, ...] = told["devices"]  # type: ignore[assignment]
    return Read(fields=tuple({**told, "devices": devices_filled(devices, seen)}.items()))


def _asked(world: World, first: object) -> Read:
    """The list, each device in full, and its figures."""
    more, now = [], {}
    for place, one in enumerate(listed(first)):
        index = one.get("device_id", place)
        full = world.run("xpu-smi", "discovery", "-d", str(index), "-j")
        stats = world.run("xpu-smi", "stats", "-d", str(index), "-j")
        more += [] if full is None else [parsed(full.out)]
        if stats is not None and isinstance(index, int):
            now[index] = parsed(stats.out)
    return read_list(first, *more, now=now)


def _cards(world: World) -> tuple[Device, ...]:
    """Those of the display system that stand on a bus of their own."""
    found = []
    for name in world.names(_DRM):
        folder = f"{_DRM}/{name}/device"
        if not _CARD.match(name) or world.text(f"{folder}/vendor") != _INTEL:
            continue
        place = (world.link(folder) or "").rpartition("/")[2]
        if not _IN_PROCESSOR.match(place):
            found.append(_card(world, folder, place=place))
    ordered = sorted(found, key=lambda one: one.pci or "")
    return tuple(replace(one, index=index) for index, one in enumerate(ordered))


def _card(world: World, folder: str, *, place: str) -> Device:
    chip = next(iter(world.names(f"{folder}/hwmon")), None)
    sensors = f"{folder}/hwmon/{chip}"
    device = (world.text(f"{folder}/device") or "").removeprefix("0x")
    gen: object = read_value("gen", world.text(f"{folder}/current_link_speed"))
    lanes: object = read_value("lanes", world.text(f"{folder}/current_link_width"))
    return Device(
        index=0,
        vendor="intel",
        pci=place or None,
        pci_id=f"8086:{device}" if device else None,
        pcie=PcieLink(
            gen=gen if isinstance(gen, int) else None, lanes=lanes if isinstance(lanes, int) else None
        ),
        power=Power(limit_w=scaled(world.text(f"{sensors}/power1_max"), _MICRO)),
        thermal=Thermal(gpu_c=scaled(world.text(f"{sensors}/temp1_input"), _MILLI)),
    )


def _without_tool() -> Unseen:
    why = say("xpu-smi is not here: names and memory of Intel's cards are not seen without it")
    return Unseen(what="devices", why=why, see="xpu-smi discovery")
