"""Jetson boards: which module it is, as the device tree tells (the library says "Orin", or nothing at all).

What people paste of them: a log of tegrastats, and what jetson_release of jetson-stats prints.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from rigright.base.loader import rows
from rigright.base.units import GIB, KIB, KILO, MEGA, MIB
from rigright.machine.device import Clocks, Device, Power, Thermal
from rigright.machine.host import Memory
from rigright.machine.meminfo import meminfo
from rigright.machine.record import Read
from rigright.machine.system import System
from rigright.machine.values import words_in
from rigright.machine.world import World

_TREES = ("/proc/device-tree", "/sys/firmware/devicetree/base")
_SOC = "nvidia,tegra"
_MOST_BYTES = 4 * KIB


def with_board(world: World, read: Read) -> Read:
    """The reading with the module's name; on boards whose library tells nothing with the module itself."""
    # what the board and its chip call themselves
    raw = (world.raw(f"{tree}/compatible", _MOST_BYTES) for tree in _TREES)
    text = next((data for data in raw if data), b"").decode("utf-8", "replace").replace("\0", " ")
    module = _module(text) if _SOC in text else None
    if module is None:
        return read
    name, isa = module
    devices: tuple[Device, ...] = read.fields.get("devices", ())
    # with its memory, which the system tells a little less of than is soldered
    total = meminfo(world).get("MemTotal")
    named = name if not total else f"{name} {2 ** math.ceil(math.log2(total / GIB))}GB"
    bare = Device(index=0, vendor="nvidia", isa=isa, unified_memory=True)
    boards = tuple(
        replace(device, name=named, isa=device.isa or isa, unified_memory=True)
        for device in devices or (bare,)
        if device.pci is None
    )
    cards = tuple(device for device in devices if device.pci is not None)
    return Read(fields={**read.fields, "devices": (*boards, *cards)}, unseen=read.unseen)


def _module(text: str) -> tuple[str, str] | None:
    """Name and compute capability of the module whose number stands in a text; the longest number counts."""
    table = rows("jetson_modules.csv", "module", "name", "isa")
    known = [row for row in table if re.search(rf"\b{re.escape(row[0])}", text)]
    if not known:
        return None
    _, name, isa = max(known, key=lambda row: len(row[0]))
    return name, isa


_TICK = re.compile(r"\bRAM (\d{1,7})/(\d{1,7})MB \(lfb [^\n]{0,2000}")
_BUSY = re.compile(r"\bGR3D_FREQ (\d{1,3})%(?:@\[?(\d{1,5}))?")
_HEAT = re.compile(r"\b(?:gpu|GPU)@(-?\d{1,3}(?:\.\d{1,3})?)C")
_WATTS = re.compile(r"\bVDD_IN (\d{1,7})(?:mW)?/")
_RAM = re.compile(r"\((\d{1,3})GB ram\)")


def is_tegrastats(text: str) -> bool:
    """Whether tegrastats wrote it."""
    return "GR3D_FREQ" in text and _TICK.search(text) is not None


def read_tegrastats(text: str) -> Read:
    """The board as its last line has it; what module it is, no line tells."""
    ticks = [*_TICK.finditer(text)]
    if not ticks:
        return Read()
    last = ticks[-1]
    line = last.group()
    used, total = int(last[1]) * MIB, int(last[2]) * MIB
    busy, heat, watts = _BUSY.search(line), _HEAT.search(line), _WATTS.search(line)
    clock = busy[2] if busy else None
    device = Device(
        index=0,
        vendor="nvidia",
        unified_memory=True,
        mem_total_bytes=total,
        mem_used_bytes=used,
        mem_free_bytes=max(0.0, total - used),
        busy_share=int(busy[1]) / 100 if busy else None,
        clocks=Clocks(sm_hz=int(clock) * MEGA if clock else None),
        thermal=Thermal(gpu_c=float(heat[1]) if heat else None),
        power=Power(draw_w=int(watts[1]) / KILO if watts else None),
    )
    return Read(fields={"devices": (device,), "memory": Memory(total_bytes=total)})


def is_release(text: str) -> bool:
    """Whether jetson_release wrote it."""
    return "jetson-stats" in text and "P-Number: p" in text


def read_release(text: str) -> Read:
    """The module by its number, and the system."""
    fields = words_in(text)
    size = _RAM.search(fields.get("Module", ""))
    model = fields.get("Model", "").partition(" - Jetpack")[0]
    pair = _module(fields.get("P-Number", ""))
    name, isa = pair or (fields.get("Module", "").partition(" (")[0] or None, None)
    device = Device(
        index=0,
        vendor="nvidia",
        name=f"{name} {int(size[1])}GB" if name and size else name,
        isa=isa,
        unified_memory=True,
    )
    system = System(
        product=model or None,
        kernel=fields.get("Release"),
        arch="aarch64",
        os_name=fields.get("Distribution"),
    )
    return Read(fields={"devices": (device,), "system": system})
