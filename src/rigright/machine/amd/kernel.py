"""AMD's cards as the kernel shows them, without any tool: /sys/class/drm, hwmon, RAS, the topology of KFD."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from rigright.base.units import KILO, MEGA
from rigright.machine.amd.errors import bad_pages_of, ecc_of
from rigright.machine.amd.isa import shares_memory
from rigright.machine.amd.metrics import FILE as METRICS
from rigright.machine.amd.metrics import MOST_BYTES, slowed_by
from rigright.machine.amd.nodes import addresses, topology, with_nodes
from rigright.machine.device import Clocks, Device, PcieLink, Power, Thermal
from rigright.machine.device_text.sysfs import link_at, scaled
from rigright.machine.device_text.values import read_value
from rigright.machine.pci.on_card import slot_side
from rigright.machine.world import World

DRM = "/sys/class/drm"
VENDOR = "0x1002"
_MILLI = 1 / KILO
_MICRO = 1 / MEGA
_CARD = re.compile(r"card\d+\Z")


def cards(world: World) -> tuple[Device, ...]:
    """Every AMD card of the display system, in the order of their addresses."""
    devices = [
        _card(world, f"{DRM}/{name}/device")
        for name in world.names(DRM)
        if _CARD.match(name) and world.text(f"{DRM}/{name}/device/vendor") == VENDOR
    ]
    ordered = tuple(sorted(devices, key=lambda device: device.pci or ""))
    known, places = topology(world), addresses(ordered)
    whole = (
        with_nodes(world, device, nodes=known.of(device.pci, places), is_whole=known.is_whole)
        for device in ordered
    )
    return tuple(replace(_with_main_memory(world, device), index=place) for place, device in enumerate(whole))


def _card(world: World, folder: str) -> Device:
    def number(name: str, scale: float = 1.0) -> float | None:
        return scaled(world.text(f"{folder}/{name}"), scale)

    total, used = number("mem_info_vram_total"), number("mem_info_vram_used")
    place = world.link(folder)
    leaf = (place or "").rpartition("/")[2]
    address = leaf if re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", leaf) else None
    return Device(
        index=0,
        vendor="amd",
        name=world.text(f"{folder}/product_name") or None,
        uuid=world.text(f"{folder}/unique_id") or None,
        serial=world.text(f"{folder}/serial_number") or None,
        pci=address,
        pci_id=_id(world, folder, names=("vendor", "device")),
        board_id=_id(world, folder, names=("subsystem_vendor", "subsystem_device")),
        vbios=world.text(f"{folder}/vbios_version") or None,
        mem_total_bytes=total,
        mem_used_bytes=used,
        mem_free_bytes=None if total is None or used is None else total - used,
        numa_node=_whole(number("numa_node"), least=0),
        pcie=_link(world, folder),
        busy_share=number("gpu_busy_percent", 0.01),
        mem_busy_share=number("mem_busy_percent", 0.01),
        ecc=ecc_of(world, folder),
        retired=bad_pages_of(world, folder),
        slowed_by=slowed_by(world.raw(f"{folder}/{METRICS}", MOST_BYTES)),
        **_sensors(world, folder),
    )


def _link(world: World, folder: str) -> PcieLink:
    replays: Any = read_value("count", world.text(f"{folder}/pcie_replay_count"))
    return replace(link_at(world, slot_side(world, folder)), replays=replays)


def _sensors(world: World, folder: str) -> dict[str, Any]:
    """Power, heat and clocks of its hwmon; temperatures by their labels."""
    chip = next(iter(world.names(f"{folder}/hwmon")), None)
    if chip is None:
        return {}
    place = f"{folder}/hwmon/{chip}"

    def number(name: str, scale: float) -> float | None:
        return scaled(world.text(f"{place}/{name}"), scale)

    heat = {world.text(f"{place}/temp{at}_label"): at for at in (1, 2, 3)}
    core = heat.get("junction", heat.get("edge", 1))
    memory = heat.get("mem")
    fan, most = number("fan1_input", 1), number("fan1_max", 1)
    return {
        "power": Power(
            draw_w=number("power1_input", _MICRO) or number("power1_average", _MICRO),
            limit_w=number("power1_cap", _MICRO),
            limit_default_w=number("power1_cap_default", _MICRO),
            limit_min_w=number("power1_cap_min", _MICRO),
            limit_max_w=number("power1_cap_max", _MICRO),
        ),
        "thermal": Thermal(
            gpu_c=number(f"temp{core}_input", _MILLI),
            slowdown_c=number(f"temp{core}_crit", _MILLI),
            shutdown_c=number(f"temp{core}_emergency", _MILLI),
            mem_c=None if memory is None else number(f"temp{memory}_input", _MILLI),
            mem_most_c=None if memory is None else number(f"temp{memory}_crit", _MILLI),
            fans=(fan / most,) if fan is not None and most else (),
        ),
        "clocks": Clocks(sm_hz=number("freq1_input", 1), mem_hz=number("freq2_input", 1)),
    }


def _whole(number: float | None, *, least: int) -> int | None:
    return None if number is None or number < least else int(number)


def _id(world: World, folder: str, *, names: tuple[str, str]) -> str | None:
    texts = [(world.text(f"{folder}/{name}") or "").removeprefix("0x") for name in names]
    return ":".join(texts) if all(re.fullmatch(r"[0-9a-f]{4}", text) for text in texts) else None


def _with_main_memory(world: World, device: Device) -> Device:
    """Graphics in a processor: the larger of what the firmware set aside, and what the kernel lends (GTT)."""
    if not shares_memory(device.isa):
        return device
    folder = f"/sys/bus/pci/devices/{device.pci}"
    total, used = (scaled(world.text(f"{folder}/mem_info_gtt_{name}"), 1.0) for name in ("total", "used"))
    if total is None or total <= (device.mem_total_bytes or 0):
        return device
    free = None if used is None else total - used
    return replace(device, mem_total_bytes=total, mem_used_bytes=used, mem_free_bytes=free)
