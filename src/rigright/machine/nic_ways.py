"""The way from each card to each network card, by the bridges above both, as `nvidia-smi topo -m` says it."""

from __future__ import annotations

from dataclasses import replace

from rigright.machine.host import PciDevice
from rigright.machine.record import Machine

RDMA = ("infiniband", "roce")
_MOST = 256


def with_nics(machine: Machine) -> Machine:
    """The machine, each of its cards with the way to each RDMA card, where the bus shows both."""
    bus = {one.address: one for one in machine.pci or ()}
    ports = {port.name.partition("/")[0]: port.pci for port in machine.ports or () if port.kind in RDMA}
    nics = [(name, bus[pci]) for name, pci in ports.items() if pci in bus][:_MOST]
    if not nics:
        return machine
    devices = tuple(
        replace(one, nics=tuple((name, way) for name, nic in nics if (way := way_between(bus[one.pci], nic))))
        if one.pci in bus and not one.nics
        else one
        for one in machine.devices
    )
    return replace(machine, devices=devices)


def way_between(one: PciDevice, other: PciDevice) -> str | None:
    """PIX: one switch between them; PXB: several; PHB: one host bridge; NODE: one NUMA node; SYS: two."""
    common = len({*one.parents} & {*other.parents})
    if common:
        return "PIX" if max(len(one.parents), len(other.parents)) - common <= 1 else "PXB"
    if _root(one) == _root(other):
        return "PHB"
    if (one.numa_node is None) != (other.numa_node is None):
        return None
    return "NODE" if one.numa_node == other.numa_node else "SYS"


def _root(one: PciDevice) -> str:
    """The host bridge: domain and bus of the first bridge, or of what sits right on it."""
    return (one.parents or (one.address,))[0].rpartition(":")[0]
