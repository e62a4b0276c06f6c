"""The machine: everything that was read of it, in one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from rigright.base.record import dataclass
from rigright.base.words import Sentence
from rigright.machine.device import Device
from rigright.machine.host import Cpu, Disk, Memory, Mount, NodePower, Path, PciDevice, Port, Sensor, Slot
from rigright.machine.system import Event, Software, System

SCHEMA = 1  # of a stored machine; raised when a field changes its meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Something that was looked for and could not be read: unknown, not absent."""

    what: str  # the field: "memory.modules", "devices.1.power"
    why: Sentence
    see: str | None = None  # a command that would show it


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine as it was at one moment."""

    schema: int = SCHEMA
    origin: str = "live"  # "live", or the file it was read from
    devices: tuple[Device, ...] = ()
    paths: tuple[Path, ...] | None = None
    pci: tuple[PciDevice, ...] | None = None
    slots: tuple[Slot, ...] | None = None
    cpu: Cpu = field(default_factory=Cpu)
    memory: Memory = field(default_factory=Memory)
    disks: tuple[Disk, ...] | None = None
    mounts: tuple[Mount, ...] | None = None
    ports: tuple[Port, ...] | None = None
    sensors: tuple[Sensor, ...] | None = None
    node_power: NodePower | None = None  # by the management controller; sensors may tell it too
    system: System = field(default_factory=System)
    software: Software = field(default_factory=Software)
    events: tuple[Event, ...] | None = None  # of the kernel log, oldest first
    environment: tuple[tuple[str, str], ...] = ()  # variables that matter: ("CUDA_VISIBLE_DEVICES", "0,1")
    unseen: tuple[Unseen, ...] = ()
    read_as: tuple[str, ...] = ()  # of a capture: what was in it ("nvidia-smi", "kernel log"); else empty
    unread: tuple[str, ...] = ()  # of a capture: what in it could not be read
    cut: tuple[str, ...] = ()  # of a capture: files that end too early, read up to there

    @property
    def is_capture(self) -> bool:
        """Whether only what a capture holds is known: the rest is not in it, and nobody was asked."""
        return bool(self.read_as)

    @property
    def typed_by_root(self) -> bool:
        """Whether who reads of it types commands as they are: as root, or where no sudo is."""
        is_windows = "windows" in f"{self.system.os_id} {self.system.os_name}".lower()
        return is_windows or (self.origin == "live" and self.system.as_root is True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What one part or vendor read: fields of `Machine`, and what it could not see."""

    fields: Mapping[str, Any] = field(default_factory=dict)  # a tuple goes on, a record is laid over
    unseen: tuple[Unseen, ...] = ()


def telling(**fields: Any) -> dict[str, Any]:
    """Fields without those that say nothing: None, or an empty list."""
    return {name: value for name, value in fields.items() if value}


def total_bytes(device: Device, machine: Machine) -> float | None:
    """What its driver reports as total; of a shared memory what the machine has."""
    if device.mem_total_bytes is not None:
        return device.mem_total_bytes
    return machine.memory.total_bytes if device.unified_memory else None


def free_bytes(device: Device, machine: Machine) -> float | None:
    """What a program could still take; of a shared memory what the system could make free.

    There NVIDIA's driver counts cached files as used; others tell what is left below a limit of the system.
    """
    if device.unified_memory and machine.memory.available_bytes is not None:
        own, available = device.mem_free_bytes, machine.memory.available_bytes
        if own is None:
            return available
        return max(own, available) if device.vendor == "nvidia" else min(own, available)
    if device.mem_free_bytes is not None:
        return device.mem_free_bytes
    if device.mem_total_bytes is None or device.mem_used_bytes is None:
        return None
    return max(0.0, device.mem_total_bytes - device.mem_used_bytes - (device.mem_reserved_bytes or 0.0))
