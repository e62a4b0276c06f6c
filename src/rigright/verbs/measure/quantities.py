"""What is followed while a command runs: each a name, a label, a unit and where a tick holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rigright.base.words import Sentence, say
from rigright.machine.tick import DeviceTick, Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One quantity of one thing."""

    name: str
    label: Sentence
    unit: str
    read: Callable[[Tick], float | None]


@dataclass(frozen=True, slots=True)
class _Of:
    """One field of one device."""

    index: int
    field: str

    def __call__(self, tick: Tick) -> float | None:
        device = next((item for item in tick.devices if item.index == self.index), None)
        return None if device is None else getattr(device, self.field)


def of_devices(devices: tuple[DeviceTick, ...]) -> tuple[Quantity, ...]:
    """The quantities of every device there is."""
    return tuple(quantity for device in devices for quantity in _of_device(device.index))


def _of_device(index: int) -> tuple[Quantity, ...]:
    rows = (
        ("memory", say("GPU {index} memory", index=index), "bytes", "mem_used_bytes"),
        ("busy", say("GPU {index} busy", index=index), "share", "busy_share"),
        ("power", say("GPU {index} power", index=index), "w", "power_w"),
        ("temperature", say("GPU {index} temperature", index=index), "c", "gpu_c"),
        ("pcie in", say("GPU {index} PCIe in", index=index), "bytes_per_s", "pcie_rx_bytes_per_s"),
        ("pcie out", say("GPU {index} PCIe out", index=index), "bytes_per_s", "pcie_tx_bytes_per_s"),
    )
    return tuple(
        Quantity(name=f"gpu {index} {name}", label=label, unit=unit, read=_Of(index, field))
        for name, label, unit, field in rows
    )


def of_host() -> tuple[Quantity, ...]:
    """The quantities of the command's processes and of the machine around them."""
    return (
        Quantity(name="cpu", label=say("cores used"), unit="cores", read=_tree("cpu_share")),
        Quantity(name="memory", label=say("system memory"), unit="bytes", read=_tree("mem_bytes")),
        Quantity(name="cpu all", label=say("all cores busy"), unit="share", read=_host("cpu_share")),
        Quantity(
            name="disk read",
            label=say("disks read"),
            unit="bytes_per_s",
            read=_host("disk_read_bytes_per_s"),
        ),
        Quantity(
            name="disk write",
            label=say("disks written"),
            unit="bytes_per_s",
            read=_host("disk_write_bytes_per_s"),
        ),
    )


def _tree(field: str) -> Callable[[Tick], float | None]:
    return lambda tick: None if tick.tree is None else getattr(tick.tree, field)


def _host(field: str) -> Callable[[Tick], float | None]:
    return lambda tick: getattr(tick.host, field)
