"""The compute topology of KFD: a node for each card that ROCm's programs see, or for each part of one.

Cards of the MI300 kind may be cut (DPX, TPX, QPX, CPX): programs then see their parts as cards. The parts
share one function on the bus; the kernel marks them in the function's place of the address, or above it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rigright.base.units import MEGA
from rigright.machine.amd.isa import isa_of, shares_memory
from rigright.machine.device import Device, Slice
from rigright.machine.host import Path
from rigright.machine.world import World

KFD = "/sys/class/kfd/kfd/topology/nodes"
WHOLE = "SPX"  # the mode of a card in one piece
_XGMI = 11  # kind of a link of the topology, of the kernel's kfd_crat.h
_MOST_NODES = 1024
_MODES = ("current_compute_partition", "current_memory_partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class KfdNode:
    """One that computes; `pci` is the address it gives itself."""

    number: int
    pci: str
    properties: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """All nodes that compute, by their numbers; some may be closed to us, as in a container."""

    nodes: tuple[KfdNode, ...] = ()
    is_whole: bool = True

    def of(self, pci: str | None, cards: frozenset[str]) -> tuple[KfdNode, ...]:
        """The nodes of one card, in the order of its parts."""
        if pci is None:
            return ()
        place = pci.rpartition(".")[0]
        return tuple(
            node
            for node in self.nodes
            if node.pci == pci or (node.pci.rpartition(".")[0] == place and node.pci not in cards)
        )


def topology(world: World) -> Topology:
    """What the kernel shows of it."""
    numbers = sorted(int(name) for name in world.names(KFD) if name.isdecimal())[:_MOST_NODES]
    fields = {number: world.text(f"{KFD}/{number}/properties") for number in numbers}
    read = {number: _properties(text) for number, text in fields.items()}
    nodes = tuple(
        KfdNode(number=number, pci=_located(row), properties=row)
        for number, row in read.items()
        if row.get("simd_count")
    )
    return Topology(nodes=nodes, is_whole=all(fields.values()))


def inside(world: World) -> frozenset[str]:
    """The addresses of graphics inside a processor."""
    return frozenset(
        node.pci
        for node in topology(world).nodes
        if shares_memory(isa_of(node.properties.get("gfx_target_version", 0)))
    )


def with_nodes(world: World, device: Device, *, nodes: tuple[KfdNode, ...], is_whole: bool) -> Device:
    """With its compute units, its instruction set, and its parts where it is cut into some."""
    if not nodes:
        return device
    fields = nodes[0].properties
    isa = isa_of(fields.get("gfx_target_version", 0))
    most_mhz = fields.get("max_engine_clk_fcompute")
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
        unified_memory=shares_memory(isa) or fields.get("cpu_cores_count", 0) > 0,
        slices=slices,
    )


def _slices(world: World, device: Device, *, nodes: tuple[KfdNode, ...], is_whole: bool) -> tuple[Slice, ...]:
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


def _bank_bytes(world: World, node: KfdNode) -> float | None:
    """How much memory the kernel lets programs of a node take."""
    fields = _properties(world.text(f"{KFD}/{node.number}/mem_banks/0/properties"))
    size = fields.get("size_in_bytes")
    return float(size) if size else None


def paths(world: World, devices: tuple[Device, ...], *, known: Topology) -> tuple[Path, ...]:
    """Pairs of cards that the topology joins by Infinity Fabric."""
    cards = addresses(devices)
    places = {node.number: device.index for device in devices for node in known.of(device.pci, cards)}
    result = {}
    for number, index in places.items():
        for name in world.names(f"{KFD}/{number}/io_links")[:_MOST_NODES]:
            fields = _properties(world.text(f"{KFD}/{number}/io_links/{name}/properties"))
            other = places.get(fields.get("node_to", -1))
            if fields.get("type") == _XGMI and other is not None and index < other:
                result[index, other] = Path(a=index, b=other, kind="XGMI")
    return tuple(result[pair] for pair in sorted(result))


def addresses(devices: tuple[Device, ...]) -> frozenset[str]:
    """Where they stand on the bus."""
    return frozenset(device.pci for device in devices if device.pci)


def _properties(text: str | None) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"(?m)^(\w+) (\d{1,20})$", text or "")}


def _located(fields: Mapping[str, int]) -> str:
    """The PCI address of a node: bus, device and function in one number; above them a newer kernel's part."""
    place = fields.get("location_id", 0)
    return f"{fields.get('domain', 0):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
