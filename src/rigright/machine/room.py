"""How much memory a device has and how much is free now: its own, or the machine's where they share."""

from __future__ import annotations

from rigright.machine.device import Device
from rigright.machine.record import Machine


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
