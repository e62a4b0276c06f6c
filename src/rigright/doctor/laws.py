"""What this hardware states for one benchmark: its chip, its link as it is, its memory modules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rigright.base.errors import RigError
from rigright.base.units import GIGA, MEGA
from rigright.doctor.record import CheckInput
from rigright.facts.chips import Chip
from rigright.facts.cpus import CHANNEL_BYTES, cpu_named, find_cpu
from rigright.facts.fabrics import fabric_of, pcie_bytes_per_s
from rigright.machine.bench.record import Result
from rigright.machine.device import Device
from rigright.machine.host import Disk
from rigright.machine.mounts import is_above

_CARD = re.compile(r"gpu (\d{1,18})")
FILLED_BY_TCP_BYTES_PER_S = 25 * GIGA / 8  # ports up to 25 Gb/s


def stated(law: str, result: Result, *, case: CheckInput) -> float | None:
    """The full figure, or None where it is not known."""
    try:
        value = _LAWS[law](result, case)
    except RigError:
        return None
    return value if value is not None and 0 < value < float("inf") else None


def cards_of(result: Result, case: CheckInput) -> list[tuple[Device, Chip | None]]:
    """The devices a result is about, as its `on` names them; all of them for "gpu all"."""
    if result.on == "gpu all":
        return list(case.whole.values())
    numbers = (int(number) for number in _CARD.findall(result.on))
    return [case.whole[number] for number in numbers if number in case.whole]


def disk_of(result: Result, case: CheckInput) -> Disk | None:
    """The disk below the folder of a result: by the longest mount above it."""
    mounts = [mount for mount in case.machine.mounts or () if is_above(mount.path, result.on)]
    if not mounts:
        return None
    name = max(mounts, key=lambda mount: len(mount.path)).disk
    return next((disk for disk in case.machine.disks or () if disk.name == name), None)


def _of_chip(rate: Callable[[Chip], float | None]) -> Callable[[Result, CheckInput], float | None]:
    """A figure of the chip, as one device of it has it."""

    def law(result: Result, case: CheckInput) -> float | None:
        cards = cards_of(result, case)
        chip = cards[0][1] if len(cards) == 1 else None
        value = None if chip is None else rate(chip)
        return value / chip.devices if chip is not None and value is not None else None

    return law


def _pcie(result: Result, case: CheckInput) -> float | None:
    """The link as it was during the copy; else the most that card and slot can, at the lanes of now."""
    settings = dict(result.settings)
    if "pcie_gen" in settings:
        return pcie_bytes_per_s(int(settings["pcie_gen"]), int(settings["pcie_lanes"]))
    cards = cards_of(result, case)
    return _slot(cards[0][0]) if len(cards) == 1 else None


def _slot(device: Device) -> float | None:
    link = device.pcie
    gen = link.gen_max or link.gen_device_max
    return pcie_bytes_per_s(gen, link.lanes) if gen and link.lanes and not device.unified_memory else None


def _peer(result: Result, case: CheckInput) -> float | None:
    """Direct links where the two have them, else the narrower slot; through main memory: no promise."""
    cards = cards_of(result, case)
    if len(cards) != 2:
        return None
    pair = {device.index for device, _ in cards}
    path = next((item for item in case.machine.paths or () if {item.a, item.b} == pair), None)
    direct = _linked(*cards[0])
    if path is not None and path.kind.startswith("NV"):
        links = path.kind.removeprefix("NV")
        return _some_links(*cards[0], count=int(links)) if links.isdecimal() else direct
    if dict(result.settings).get("direct", "yes") != "yes":
        return None
    if path is None and direct is not None:
        return None
    slots = [_slot(device) for device, _ in cards]
    return min((slot for slot in slots if slot), default=None) if all(slots) else None


def _bus(result: Result, case: CheckInput) -> float | None:
    """One direction of all links of a card, where every pair has them; else its slot."""
    cards = cards_of(result, case)
    paths = case.machine.paths or ()
    if len(cards) < 2 or "nodes" in dict(result.settings):
        return None
    if not paths and all(chip is not None and fabric_of(chip).kind == "switch" for _, chip in cards):
        return _linked(*cards[0])  # a log of a board whose every pair has all links
    if paths and all(path.kind.startswith("NV") for path in paths):
        return _linked(*cards[0])
    if any(path.kind.startswith("NV") for path in paths) or not paths:
        return None
    slots = [_slot(device) for device, _ in cards]
    return min(slot for slot in slots if slot) if all(slots) else None


def _linked(device: Device, chip: Chip | None) -> float | None:
    """One way over all links that work: as the driver counts them, else as the chip states."""
    active = [link for link in device.links or () if link.active]
    rates = [link.bytes_per_s for link in active if link.bytes_per_s]
    if active and len(rates) == len(active):
        return sum(rates)
    return None if chip is None or device.links == () else chip.link_one_way_bytes_per_s


def _some_links(device: Device, chip: Chip | None, *, count: int) -> float | None:
    """So many of a device's links."""
    whole = _linked(device, chip)
    there = len([link for link in device.links or () if link.active])
    return whole if whole is None or not there else whole * min(count / there, 1.0)


def _ram(_result: Result, case: CheckInput) -> float | None:
    """Channels that are filled, at the speed that is set; modules unseen, the most of the processor."""
    modules = [module for module in case.machine.memory.modules or () if module.size_bytes]
    speeds = [module.set_mt_s or module.rated_mt_s for module in modules]
    if modules and all(speeds):
        channels = len({module.channel or module.slot for module in modules})
        return channels * CHANNEL_BYTES * MEGA * min(speed for speed in speeds if speed)
    cpu = case.machine.cpu
    rented = case.machine.system.is_virtual
    known = None if rented else cpu_named(cpu.name)
    most = None if known is None else known.mem_bytes_per_s
    return None if most is None else most * (cpu.sockets or 1)


def _cpu(double: bool) -> Callable[[Result, CheckInput], float | None]:  # noqa: FBT001 - one choice, made below
    def law(_result: Result, case: CheckInput) -> float | None:
        cpu = case.machine.cpu
        known = cpu_named(cpu.name)
        if known is None or not cpu.threads:
            return None
        whole = find_cpu(known.name).flops_per_s * (cpu.sockets or 1)
        return whole * (cpu.usable or cpu.threads) / cpu.threads / (2 if double else 1)

    return law


def _disk_link(result: Result, case: CheckInput) -> float | None:
    """What the disk's own link carries."""
    disk = disk_of(result, case)
    if disk is None:
        return None
    if disk.gen and disk.lanes:
        return pcie_bytes_per_s(disk.gen, disk.lanes)
    return disk.sata_bytes_per_s


def _port(result: Result, case: CheckInput) -> float | None:
    """The port that the way goes through, one way; a fast one is not filled by a few connections of TCP."""
    name = dict(result.settings).get("port")
    port = next((item for item in case.machine.ports or () if item.name == name), None)
    if port is None or port.kind != "ethernet" or port.bytes_per_s is None:
        return None
    return port.bytes_per_s if port.bytes_per_s <= FILLED_BY_TCP_BYTES_PER_S else None


def _twice(law: Callable[[Result, CheckInput], float | None]) -> Callable[[Result, CheckInput], float | None]:
    def both(result: Result, case: CheckInput) -> float | None:
        one_way = law(result, case)
        return None if one_way is None else 2 * one_way

    return both


_LAWS: Mapping[str, Callable[[Result, CheckInput], float | None]] = {
    "gemm_bf16": _of_chip(lambda chip: chip.bf16_flops_per_s),
    "gemm_fp16": _of_chip(lambda chip: chip.fp16_acc32_flops_per_s or chip.fp16_flops_per_s),
    "gemm_tf32": _of_chip(lambda chip: chip.tf32_flops_per_s),
    "gemm_fp32": _of_chip(lambda chip: chip.fp32_flops_per_s),
    "gemm_fp8": _of_chip(lambda chip: chip.fp8_acc32_flops_per_s or chip.fp8_flops_per_s),
    "gemm_int8": _of_chip(lambda chip: chip.int8_ops_per_s),
    "device_memory": _of_chip(lambda chip: chip.mem_bytes_per_s),
    "pcie": _pcie,
    "pcie_both": _twice(_pcie),
    "peer": _peer,
    "peer_both": _twice(_peer),
    "bus": _bus,
    "ram": _ram,
    "cpu_fp32": _cpu(double=False),
    "cpu_fp64": _cpu(double=True),
    "disk_link": _disk_link,
    "port": _port,
}
