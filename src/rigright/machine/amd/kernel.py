"""AMD's cards as the kernel shows them, without any tool: /sys/class/drm, hwmon, and the topology of KFD."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rigright.base.units import KILO, MEGA
from rigright.machine.amd.isa import isa_of, shares_memory
from rigright.machine.device import Clocks, Device, Ecc, PcieLink, Power, Thermal
from rigright.machine.host import Path
from rigright.machine.pci.on_card import slot_side
from rigright.machine.told.values import read_value
from rigright.machine.world import World

DRM, KFD = "/sys/class/drm", "/sys/class/kfd/kfd/topology/nodes"
VENDOR = "0x1002"
_MILLI = 1 / KILO
_MICRO = 1 / MEGA
_CARD = re.compile(r"card\d+\Z")
_XGMI = 11  # kind of a link of the topology, of the kernel's kfd_crat.h
_MOST_NODES = 256


def cards(world: World) -> tuple[Device, ...]:
    """Every AMD card of the display system, in the order of their addresses."""
    found = [
        _card(world, f"{DRM}/{name}/device")
        for name in world.names(DRM)
        if _CARD.match(name) and world.text(f"{DRM}/{name}/device/vendor") == VENDOR
    ]
    nodes = gpu_nodes(world)
    known = [
        _with_node(world, device, nodes=nodes) for device in sorted(found, key=lambda one: one.pci or "")
    ]
    return tuple(replace(device, index=place) for place, device in enumerate(known))


def _card(world: World, folder: str) -> Device:
    def number(name: str, scale: float = 1.0) -> float | None:
        return scaled(world.text(f"{folder}/{name}"), scale)

    total, used = number("mem_info_vram_total"), number("mem_info_vram_used")
    return Device(
        index=0,
        vendor="amd",
        name=world.text(f"{folder}/product_name") or None,
        uuid=world.text(f"{folder}/unique_id") or None,
        serial=world.text(f"{folder}/serial_number") or None,
        pci=_address(world.link(folder)),
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
        ecc=_ecc(world, folder),
        **_sensors(world, folder),
    )


def _link(world: World, folder: str) -> PcieLink:
    slot = slot_side(world, folder)

    def told(kind: str, name: str, *, at: str = slot) -> Any:
        return read_value(kind, world.text(f"{at}/{name}"))

    return PcieLink(
        gen=told("gen", "current_link_speed"),
        gen_max=told("gen", "max_link_speed"),
        lanes=told("lanes", "current_link_width"),
        lanes_max=told("lanes", "max_link_width"),
        replays=told("count", "pcie_replay_count", at=folder),
    )


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


def _ecc(world: World, folder: str) -> Ecc | None:
    """Errors of its memory controller, where the card counts them: "ue: 0" and "ce: 0"."""
    told = world.text(f"{folder}/ras/umc_err_count")
    if told is None:
        return None
    counts = {name: int(value) for name, value in re.findall(r"(ue|ce):\s*(\d{1,15})", told)}
    return Ecc(on=True, corrected_volatile=counts.get("ce"), uncorrected_volatile=counts.get("ue"))


def scaled(told: str | None, scale: float) -> float | None:
    """A number of a file of the kernel."""
    match = re.fullmatch(r"\s*(-?\d{1,18})\s*", told or "")
    return float(match.group(1)) * scale if match else None


def _whole(number: float | None, *, least: int) -> int | None:
    return None if number is None or number < least else int(number)


def _id(world: World, folder: str, *, names: tuple[str, str]) -> str | None:
    told = [(world.text(f"{folder}/{name}") or "").removeprefix("0x") for name in names]
    return ":".join(told) if all(re.fullmatch(r"[0-9a-f]{4}", one) for one in told) else None


def _address(place: str | None) -> str | None:
    name = (place or "").rpartition("/")[2]
    return name if re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", name) else None


def gpu_nodes(world: World) -> dict[str, dict[str, int]]:
    """The properties of each node of the compute topology that is a GPU, by its PCI address."""
    found = {}
    for name in world.names(KFD)[:_MOST_NODES]:
        told = _properties(world.text(f"{KFD}/{name}/properties"))
        if told.get("simd_count"):
            found[_located(told)] = {**told, "node": int(name) if name.isdecimal() else -1}
    return found


def _properties(text: str | None) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"(?m)^(\w+) (\d{1,20})$", text or "")}


def _located(told: Mapping[str, int]) -> str:
    """The PCI address of a node: bus, device and function in one number."""
    place = told.get("location_id", 0)
    return f"{told.get('domain', 0):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"


def inside(world: World) -> frozenset[str]:
    """The addresses of graphics inside a processor."""
    nodes = gpu_nodes(world).items()
    return frozenset(pci for pci, told in nodes if shares_memory(isa_of(told.get("gfx_target_version", 0))))


def _with_node(world: World, device: Device, *, nodes: Mapping[str, Mapping[str, int]]) -> Device:
    """With its compute units and instruction set; one that has CPU cores too shares the memory."""
    told = nodes.get(device.pci or "")
    if told is None:
        return device
    per_unit = told.get("simd_per_cu") or 1
    isa = isa_of(told.get("gfx_target_version", 0))
    in_processor = shares_memory(isa)
    whole = replace(
        device,
        isa=isa,
        sms=told["simd_count"] // per_unit,
        clocks=replace(device.clocks, sm_max_hz=told["max_engine_clk_fcompute"] * MEGA)
        if told.get("max_engine_clk_fcompute")
        else device.clocks,
        unified_memory=in_processor or told.get("cpu_cores_count", 0) > 0,
    )
    return _with_main_memory(world, whole) if in_processor else whole


def _with_main_memory(world: World, device: Device) -> Device:
    """Programs take from the larger: what the firmware set aside, or what the kernel lends them (GTT)."""
    folder = f"/sys/bus/pci/devices/{device.pci}"
    total, used = (scaled(world.text(f"{folder}/mem_info_gtt_{name}"), 1.0) for name in ("total", "used"))
    if total is None or total <= (device.mem_total_bytes or 0):
        return device
    free = None if used is None else total - used
    return replace(device, mem_total_bytes=total, mem_used_bytes=used, mem_free_bytes=free)


def paths(world: World, devices: tuple[Device, ...]) -> tuple[Path, ...]:
    """Pairs of cards that the topology joins by Infinity Fabric."""
    nodes = gpu_nodes(world)
    places = {nodes[one.pci]["node"]: one.index for one in devices if one.pci in nodes}
    found = {}
    for node, index in places.items():
        for name in world.names(f"{KFD}/{node}/io_links")[:_MOST_NODES]:
            told = _properties(world.text(f"{KFD}/{node}/io_links/{name}/properties"))
            other = places.get(told.get("node_to", -1))
            if told.get("type") == _XGMI and other is not None and index < other:
                found[index, other] = Path(a=index, b=other, kind="XGMI")
    return tuple(found[pair] for pair in sorted(found))
