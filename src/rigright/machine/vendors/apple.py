"""Apple: the chip that system_profiler names as JSON, and what of the one memory is free."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rigright.base.bounded import json_object
from rigright.base.units import MIB
from rigright.machine.device import Device
from rigright.machine.host import Cpu, Memory
from rigright.machine.record import Read
from rigright.machine.system import System
from rigright.machine.values import size_of
from rigright.machine.world import World

_HARDWARE, _DISPLAYS = "SPHardwareDataType", "SPDisplaysDataType"
_USABLE = ("Pages free", "Pages inactive", "Pages speculative", "Pages purgeable")
_PATIENCE_S = 6.0  # the profiler takes its time


def read(world: World) -> Read:
    """The chip of this Mac."""
    reply = world.run(
        "system_profiler", "SPHardwareDataType", "SPDisplaysDataType", "-json", patience_s=_PATIENCE_S
    )
    fields = {} if reply is None else parsed(reply.out)
    if not fields:
        return Read()
    pages = world.run("vm_stat")
    wired = world.run("sysctl", "-n", "iogpu.wired_limit_mb")
    limit = "" if wired is None else wired.out.strip()
    return read_profile(
        fields,
        free_bytes=None if pages is None else _free_of(pages.out),
        wired_mib=int(limit) if limit.isdecimal() else None,
    )


def parsed(text: str) -> Mapping[str, Any]:
    """The object of `system_profiler -json`; empty where it is another."""
    data = json_object(text)
    return data if _HARDWARE in data or _DISPLAYS in data else {}


def read_profile(
    fields: Mapping[str, Any], *, free_bytes: float | None = None, wired_mib: int | None = None
) -> Read:
    """The machine; `wired_mib`: what the system lets the GPU hold, where somebody set it."""
    hardware, display = _first(fields, _HARDWARE), _first(fields, _DISPLAYS)
    name = _text(hardware, "chip_type") or _text(display, "sppci_model")
    total = size_of(_text(hardware, "physical_memory"))
    if name is None or not name.startswith("Apple"):
        return Read()  # a Mac of Intel's time: nothing a model would run on
    cores = _text(display, "sppci_cores")
    wired = None if not wired_mib else wired_mib * MIB
    free = free_bytes if wired is None or free_bytes is None else min(free_bytes, wired)
    device = Device(
        index=0,
        vendor="apple",
        name=name,
        isa="metal",
        cores=int(cores) if cores and cores.isdecimal() else None,
        mem_total_bytes=total,
        mem_free_bytes=free,
        unified_memory=True,
    )
    return Read(
        fields={
            "devices": (device,),
            "memory": Memory(total_bytes=total, available_bytes=free_bytes),
            "cpu": _cpu(name, _text(hardware, "number_processors")),
            "system": System(product=_text(hardware, "machine_model"), maker="Apple"),
        }
    )


def _free_of(vm_stat: str) -> float | None:
    """What the system could hand out, of `vm_stat`."""
    page = re.search(r"page size of (\d{1,7}) bytes", vm_stat)
    counts = dict(re.findall(r"(?m)^(Pages [a-z ]+?):\s+(\d{1,15})\.", vm_stat))
    if page is None or not counts:
        return None
    return float(sum(int(counts.get(name, 0)) for name in _USABLE) * int(page.group(1)))


def _first(text: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    listed = text.get(name)
    return listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _cpu(name: str, text: str | None) -> Cpu:
    """Cores of "proc 12:8:4": all, fast, slow."""
    match = re.search(r"(\d{1,4})", text or "")
    cores = int(match.group(1)) if match else None
    return Cpu(name=name, vendor="Apple", arch="arm64", sockets=1, cores=cores, threads=cores)
