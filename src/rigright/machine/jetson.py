"""Jetson boards: which module it is, as the device tree tells; the library says "Orin", or nothing at all."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from rigright.base.tables import DATA, raw_rows
from rigright.base.units import GIB, KIB
from rigright.machine.device import Device
from rigright.machine.meminfo import meminfo
from rigright.machine.record import Read
from rigright.machine.world import World

_TREES = ("/proc/device-tree", "/sys/firmware/devicetree/base")
_SOC = "nvidia,tegra"
_MOST_BYTES = 4 * KIB


def with_board(world: World, read: Read) -> Read:
    """The reading with the module's name; on boards whose library tells nothing with the module itself."""
    # what the board and its chip call themselves
    raw = (world.raw(f"{tree}/compatible", _MOST_BYTES) for tree in _TREES)
    text = next((data for data in raw if data), b"").decode("utf-8", "replace").replace("\0", " ")
    row = _row(text) if _SOC in text else None
    if row is None:
        return read
    devices: tuple[Device, ...] = read.fields.get("devices", ())
    # with its memory, which the system tells a little less of than is soldered
    name = row["name"]
    total = meminfo(world).get("MemTotal")
    named = name if not total else f"{name} {2 ** math.ceil(math.log2(total / GIB))}GB"
    bare = Device(index=0, vendor="nvidia", isa=row["isa"], unified_memory=True)
    boards = tuple(
        replace(device, name=named, isa=device.isa or row["isa"], unified_memory=True)
        for device in devices or (bare,)
        if device.pci is None
    )
    cards = tuple(device for device in devices if device.pci is not None)
    return Read(fields={**read.fields, "devices": (*boards, *cards)}, unseen=read.unseen)


def _row(text: str) -> dict[str, str] | None:
    """The row of the module: the longest number that is told."""
    rows = [row for _, row in raw_rows(DATA / "jetson_modules.csv", required=("module", "name", "isa"))]
    known = [row for row in rows if re.search(rf"\b{re.escape(row['module'])}", text)]
    return max(known, key=lambda row: len(row["module"]), default=None)


def module_named(number: str) -> tuple[str, str] | None:
    """The name and the compute capability of a module by its number: "p3767-0005"."""
    row = _row(number)
    return None if row is None else (row["name"], row["isa"])
