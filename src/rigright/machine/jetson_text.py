"""What people paste of Jetson boards: a log of tegrastats, and what jetson_release of jetson-stats prints."""

from __future__ import annotations

import re

from rigright.base.units import KILO, MEGA, MIB
from rigright.machine.device import Clocks, Device, Power, Thermal
from rigright.machine.host import Memory
from rigright.machine.jetson import module_named
from rigright.machine.record import Read
from rigright.machine.system import System

_TICK = re.compile(r"\bRAM (\d{1,7})/(\d{1,7})MB \(lfb [^\n]{0,2000}")
_BUSY = re.compile(r"\bGR3D_FREQ (\d{1,3})%(?:@\[?(\d{1,5}))?")
_HEAT = re.compile(r"\b(?:gpu|GPU)@(-?\d{1,3}(?:\.\d{1,3})?)C")
_WATTS = re.compile(r"\bVDD_IN (\d{1,7})(?:mW)?/")
_SAID = re.compile(r"(?m)^[ \t]{0,8}(?:- )?([A-Z][A-Za-z-]{1,20}): (\S.{0,120}?)[ \t]{0,40}$")
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
    fields = dict(reversed(_SAID.findall(text)))
    size = _RAM.search(fields.get("Module", ""))
    model = fields.get("Model", "").partition(" - Jetpack")[0]
    pair = module_named(fields.get("P-Number", ""))
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
