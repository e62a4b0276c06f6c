"""What should be the same on all nodes of a kind: one line a trait, each with how it is read of a machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from rigright.base.units import GIB, GIGA, MEGA, show_watts
from rigright.base.words import Sentence, say
from rigright.machine.device import Device
from rigright.machine.host import Port
from rigright.machine.record import Machine

_Reading = Callable[[Machine], str | None]
_GBIT = GIGA / 8  # bytes
_ROUGHLY_BYTES = 2.0 * GIB  # of main memory: firmware and kernel keep a little more or less


@dataclass(frozen=True, slots=True)
class Trait:
    """Something to compare; None is not observed, and says nothing."""

    PRINTED_AS = "key"

    key: str  # as a baseline names it
    name: Sentence
    read: _Reading
    weight: Literal["note", "warning", "fault"] = "warning"  # of a difference from a baseline


def counted(values: Iterable[str | None]) -> str | None:
    """Like things together: "7x A, 1x B"; one of a kind stands alone."""
    counts = Counter(value for value in values if value)
    if len(counts) == 1 and counts.total() == 1:
        return next(iter(counts))
    return ", ".join(f"{count}x {value}" for value, count in sorted(counts.items())) or None


def one_of(values: Iterable[str | None]) -> str | None:
    """The distinct values, without how many of each."""
    return ", ".join(sorted({value for value in values if value})) or None


def each(read: Callable[[Device], str | None]) -> _Reading:
    """A trait of the cards: its distinct values."""
    return lambda machine: one_of(map(read, machine.devices))


def flag(value: bool | None) -> str | None:  # noqa: FBT001 - a flag is what it shows
    """A switch as a word."""
    return None if value is None else ("on" if value else "off")


def cards(machine: Machine) -> str:
    """The accelerators that the driver shows."""
    return counted(device.name or device.vendor for device in machine.devices) or "0x"


def _link(device: Device) -> str | None:
    link = device.pcie
    if link.gen_max is None or link.lanes_max is None:
        return None
    return f"gen {link.gen_max} x{link.lanes_max}"


def _active(device: Device) -> str | None:
    active = [link.active for link in device.links or ()]
    return str(sum(map(bool, active))) if active and None not in active else None


def _gib(size_bytes: float | None, step_bytes: float = 1.0 * GIB) -> str | None:
    return None if size_bytes is None else f"{round(size_bytes / step_bytes) * step_bytes / GIB:.0f} GiB"


def _clock(device: Device) -> str | None:
    highest = device.clocks.sm_max_hz
    return None if highest is None else f"{highest / MEGA:.0f} MHz"


def _modules(machine: Machine) -> str | None:
    modules = [module for module in machine.memory.modules or () if module.size_bytes]
    return counted(f"{_gib(module.size_bytes)} {module.set_mt_s or 0:.0f} MT/s" for module in modules)


def _port(port: Port) -> str | None:
    if port.kind in {"virtual", "wifi"} or not port.bytes_per_s:
        return None
    return f"{port.kind} {port.bytes_per_s / _GBIT:.0f} Gbit/s"


def _torch(machine: Machine) -> str | None:
    frameworks = (framework for python in machine.software.pythons for framework in python.frameworks)
    return one_of(f"{framework.name} {framework.version}" for framework in frameworks if framework.version)


TRAITS = (
    Trait("cards", say("cards"), cards, weight="fault"),
    Trait("driver", say("driver"), lambda m: m.software.driver),
    Trait("kernel_driver", say("loaded kernel driver"), lambda m: m.software.kernel_driver),
    Trait("gpu_firmware", say("GPU firmware"), each(lambda d: d.vbios)),
    Trait("gpu_memory", say("memory per GPU"), each(lambda d: _gib(d.mem_total_bytes)), weight="fault"),
    Trait(
        "power_limit",
        say("GPU power limit"),
        each(lambda d: None if d.power.limit_w is None else show_watts(d.power.limit_w)),
    ),
    Trait("ecc", say("ECC"), each(lambda d: None if d.ecc is None else flag(d.ecc.on))),
    Trait("persistence", say("persistence"), each(lambda d: flag(d.persistence)), weight="note"),
    Trait("mig", say("MIG"), each(lambda d: flag(d.mig))),
    Trait("compute_mode", say("compute mode"), each(lambda d: d.compute_mode)),
    Trait("gpu_link", say("GPU PCIe link"), each(_link), weight="fault"),
    Trait("gpu_links_active", say("active NVLinks of a GPU"), each(_active), weight="fault"),
    Trait("fabric_manager", say("fabric manager"), lambda m: m.software.fabric_manager),
    Trait("product", say("system model"), lambda m: m.system.product, weight="note"),
    Trait("bios", say("BIOS"), lambda m: m.system.bios),
    Trait("processor", say("CPU"), lambda m: m.cpu.name),
    Trait(
        "threads",
        say("threads"),
        lambda m: None if m.cpu.threads is None else str(m.cpu.threads),
        weight="fault",
    ),
    Trait("microcode", say("microcode"), lambda m: m.cpu.microcode, weight="note"),
    Trait("gpu_clock", say("maximum GPU clock"), each(_clock)),
    Trait("governor", say("CPU governor"), lambda m: one_of(m.cpu.governors)),
    Trait(
        "memory", say("system memory"), lambda m: _gib(m.memory.total_bytes, _ROUGHLY_BYTES), weight="fault"
    ),
    Trait("memory_modules", say("DIMMs"), _modules, weight="fault"),
    Trait("swap", say("swap"), lambda m: _gib(m.memory.swap_total_bytes), weight="note"),
    Trait(
        "disks",
        say("disks"),
        lambda machine: counted(
            disk.model or disk.kind for disk in machine.disks or () if disk.kind != "virtual"
        ),
        weight="fault",
    ),
    Trait(
        "ports",
        say("network ports up"),
        lambda machine: counted(_port(port) for port in machine.ports or () if port.state == "up"),
        weight="fault",
    ),
    Trait(
        "port_firmware",
        say("NIC firmware"),
        lambda m: one_of(port.firmware for port in m.ports or ()),
    ),
    Trait("system", say("system"), lambda m: m.system.os_name, weight="note"),
    Trait("kernel", say("kernel"), lambda m: m.system.kernel, weight="note"),
    Trait("iommu", say("IOMMU"), lambda m: m.system.iommu),
    Trait(
        "swappiness",
        say("swappiness"),
        lambda machine: dict(machine.system.settings).get("vm.swappiness"),
        weight="note",
    ),
    Trait(
        "toolkits",
        say("toolkits"),
        lambda machine: one_of(
            f"{toolkit.name} {toolkit.version}" for toolkit in machine.software.toolkits if toolkit.version
        ),
        weight="note",
    ),
    Trait("nccl", say("NCCL"), lambda m: m.software.nccl, weight="note"),
    Trait(
        "container_toolkit", say("container toolkit"), lambda m: m.software.container_toolkit, weight="note"
    ),
    Trait("frameworks", say("frameworks"), _torch, weight="note"),
)
