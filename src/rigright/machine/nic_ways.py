"""The way from each card to each network card, by the bridges above both, as `nvidia-smi topo -m` says it."""

from __future__ import annotations

from dataclasses import replace

from rigright.machine.host import PciDevice
from rigright.machine.record import Machine

_RDMA = ("infiniband", "roce")
_MOST = 256


def with_nics(machine: Machine) -> Machine:
    """The machine, each of its cards with the way to each RDMA card, where the bus shows both."""
    bus = {device.address: device for device in machine.pci or ()}
    ports = {port.name.partition("/")[0]: port.pci for port in machine.ports or () if port.kind in _RDMA}
    nics = [(name, bus[pci]) for name, pci in ports.items() if pci in bus][:_MOST]
    if not nics:
        return machine
    devices = tuple(
        replace(
            device,
            nics=tuple((name, way) for name, nic in nics if (way := way_between(bus[device.pci], nic))),
        )
        if device.pci in bus and not device.nics
        else device
        for device in machine.devices
    )
    return replace(machine, devices=devices)


def way_between(device: PciDevice, other: PciDevice) -> str | None:
    """PIX: one switch between them; PXB: several; PHB: one host bridge; NODE: one NUMA node; SYS: two."""
    common = len({*device.parents} & {*other.parents})
    if common:
        return "PIX" if max(len(device.parents), len(other.parents)) - common <= 1 else "PXB"
    if _root(device) == _root(other):
        return "PHB"
    if (device.numa_node is None) != (other.numa_node is None):
        return None
    return "NODE" if device.numa_node == other.numa_node else "SYS"


def _root(device: PciDevice) -> str:
    """The host bridge: domain and bus of the first bridge, or of what sits right on it."""
    return (device.parents or (device.address,))[0].rpartition(":")[0]
