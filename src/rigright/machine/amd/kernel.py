"""AMD's cards as the kernel shows them, without any tool: /sys/class/drm, hwmon, RAS, firmware, topology.

The compute topology (KFD) has a node for each card that ROCm's programs see, or for each part of one. Cards
of the MI300 kind may be cut (DPX, TPX, QPX, CPX): programs then see their parts as cards. The parts share one
function on the bus; the kernel marks them in the function's place of the address, or above it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from rigright.base.loader import rows
from rigright.base.units import KILO, MEGA, MIB
from rigright.machine.amd.metrics import FILE as METRICS
from rigright.machine.amd.metrics import MOST_BYTES, slowed_by
from rigright.machine.cells import scaled_of
from rigright.machine.device import Clocks, Device, Ecc, PcieLink, Power, Retired, Slice, Thermal
from rigright.machine.host import Path
from rigright.machine.pci import drm_folders, link_at, slot_side
from rigright.machine.values import read_value
from rigright.machine.world import World


def isa_of(version: int) -> str | None:
    """The name of an instruction set: 90402 -> "gfx942", 110001 -> "gfx1101"."""
    if not version:
        return None
    return f"gfx{version // 10_000}{version // 100 % 100:x}{version % 100:x}"


def shares_memory(isa: str | None) -> bool:
    """Whether it is graphics inside a processor, which uses main memory."""
    return isa in _inside()


@cache
def _inside() -> frozenset[str]:
    return frozenset(isa for (isa,) in rows("amd_inside.csv", "isa"))


_COUNTS = "_err_count"
_LINE = re.compile(r"(ue|ce|de):\s*(\d{1,15})")  # uncorrected, corrected, deferred
_PAGE = re.compile(r"(?m)^\s*0x[0-9a-f]{1,16}\s*:\s*0x[0-9a-f]{1,16}\s*:\s*([RPF])\s*$")
_MOST_PAGES_BYTES = 8 * MIB


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
    text = world.text(f"{folder}/ras/gpu_vram_bad_pages", _MOST_PAGES_BYTES)
    if text is None:
        return None
    states = Counter(_PAGE.findall(text))
    return Retired(pages_bad=states.total(), pages_waiting=states["P"], pages_stuck=states["F"])


KFD = "/sys/class/kfd/kfd/topology/nodes"
WHOLE = "SPX"  # the mode of a card in one piece
_XGMI = 11  # kind of a link of the topology, of the kernel's kfd_crat.h
_MOST_NODES = 1024
_MODES = ("current_compute_partition", "current_memory_partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class _KfdNode:
    """One that computes; `pci` is the address it gives itself."""

    number: int
    pci: str
    properties: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topology:
    """All nodes that compute, by their numbers; some may be closed to us, as in a container."""

    nodes: tuple[_KfdNode, ...] = ()
    is_whole: bool = True

    def of(self, pci: str | None, cards: frozenset[str]) -> tuple[_KfdNode, ...]:
        """The nodes of one card, in the order of its parts."""
        if pci is None:
            return ()
        place = pci.rpartition(".")[0]
        return tuple(
            node
            for node in self.nodes
            if node.pci == pci or (node.pci.rpartition(".")[0] == place and node.pci not in cards)
        )


def topology(world: World) -> _Topology:
    """What the kernel shows of it."""
    numbers = sorted(int(name) for name in world.names(KFD) if name.isdecimal())[:_MOST_NODES]
    fields = {number: world.text(f"{KFD}/{number}/properties") for number in numbers}
    read = {number: _properties(text) for number, text in fields.items()}
    nodes = tuple(
        _KfdNode(number=number, pci=_located(row), properties=row)
        for number, row in read.items()
        if row.get("simd_count")
    )
    return _Topology(nodes=nodes, is_whole=all(fields.values()))


def inside(world: World) -> frozenset[str]:
    """The addresses of graphics inside a processor."""
    return frozenset(
        node.pci
        for node in topology(world).nodes
        if shares_memory(isa_of(node.properties.get("gfx_target_version", 0)))
    )


def _with_nodes(world: World, device: Device, *, nodes: tuple[_KfdNode, ...], is_whole: bool) -> Device:
    """With its compute units, its instruction set, and its parts where it is cut into some."""
    if not nodes:
        return device
    counts = nodes[0].properties
    isa = isa_of(counts.get("gfx_target_version", 0))
    most_mhz = counts.get("max_engine_clk_fcompute")
    slices = _slices(world, device, nodes=nodes, is_whole=is_whole)
    units = sum(
        kfd_node.properties["simd_count"] // (kfd_node.properties.get("simd_per_cu") or 1)
        for kfd_node in nodes
    )
    return replace(
        device,
        isa=isa,
        sms=units if is_whole or not slices else None,
        clocks=replace(device.clocks, sm_max_hz=most_mhz * MEGA) if most_mhz else device.clocks,
        unified_memory=shares_memory(isa) or counts.get("cpu_cores_count", 0) > 0,
        slices=slices,
    )


def _slices(
    world: World, device: Device, *, nodes: tuple[_KfdNode, ...], is_whole: bool
) -> tuple[Slice, ...]:
    """The parts of a card that is cut, those that we may use; none of one in a piece."""
    modes = [world.text(f"/sys/bus/pci/devices/{device.pci}/{name}") for name in _MODES]
    if len(nodes) == 1 and (modes[0] or WHOLE) == WHOLE:
        return ()
    profile = "/".join(mode for mode in modes if mode) or None
    total = device.mem_total_bytes
    share = total / len(nodes) if total is not None and is_whole else None
    return tuple(
        Slice(gpu_instance=place, profile=profile, mem_total_bytes=_bank_bytes(world, node) or share)
        for place, node in enumerate(nodes)
    )


def _bank_bytes(world: World, node: _KfdNode) -> float | None:
    """How much memory the kernel lets programs of a node take."""
    counts = _properties(world.text(f"{KFD}/{node.number}/mem_banks/0/properties"))
    size = counts.get("size_in_bytes")
    return float(size) if size else None


def paths(world: World, devices: tuple[Device, ...], *, known: _Topology) -> tuple[Path, ...]:
    """Pairs of cards that the topology joins by Infinity Fabric."""
    cards = addresses(devices)
    places = {node.number: device.index for device in devices for node in known.of(device.pci, cards)}
    result = {}
    for number, index in places.items():
        for name in world.names(f"{KFD}/{number}/io_links")[:_MOST_NODES]:
            counts = _properties(world.text(f"{KFD}/{number}/io_links/{name}/properties"))
            other = places.get(counts.get("node_to", -1))
            if counts.get("type") == _XGMI and other is not None and index < other:
                result[index, other] = Path(a=index, b=other, kind="XGMI")
    return tuple(result[pair] for pair in sorted(result))


def addresses(devices: tuple[Device, ...]) -> frozenset[str]:
    """Where they stand on the bus."""
    return frozenset(device.pci for device in devices if device.pci)


def _properties(text: str | None) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"(?m)^(\w+) (\d{1,20})$", text or "")}


def _located(counts: Mapping[str, int]) -> str:
    """The PCI address of a node: bus, device and function in one number; above them a newer kernel's part."""
    place = counts.get("location_id", 0)
    return f"{counts.get('domain', 0):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"


_VENDOR = "0x1002"
_MILLI = 1 / KILO
_MICRO = 1 / MEGA


def cards(world: World) -> tuple[Device, ...]:
    """Every AMD card of the display system, in the order of their addresses."""
    devices = [_card(world, folder) for folder in drm_folders(world, _VENDOR)]
    ordered = tuple(sorted(devices, key=lambda device: device.pci or ""))
    known, places = topology(world), addresses(ordered)
    whole = (
        _with_nodes(world, device, nodes=known.of(device.pci, places), is_whole=known.is_whole)
        for device in ordered
    )
    return tuple(replace(_with_main_memory(world, device), index=place) for place, device in enumerate(whole))


def _card(world: World, folder: str) -> Device:
    def number(name: str, scale: float = 1.0) -> float | None:
        return scaled_of(world, f"{folder}/{name}", scale=scale)

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
        return scaled_of(world, f"{place}/{name}", scale=scale)

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
    total, used = (scaled_of(world, f"{folder}/mem_info_gtt_{name}", scale=1.0) for name in ("total", "used"))
    if total is None or total <= (device.mem_total_bytes or 0):
        return device
    free = None if used is None else total - used
    return replace(device, mem_total_bytes=total, mem_used_bytes=used, mem_free_bytes=free)
