"""What the kernel's small files tell of a card, whoever made it: a number, its link."""

from __future__ import annotations

import re
from typing import Any

from rigright.machine.device import PcieLink
from rigright.machine.device_text.values import read_value
from rigright.machine.world import World


def scaled(text: str | None, scale: float) -> float | None:
    """A number of a file of the kernel."""
    match = re.fullmatch(r"\s*(-?\d{1,18})\s*", text or "")
    return float(match.group(1)) * scale if match else None


def link_at(world: World, folder: str) -> PcieLink:
    """The link of a function of the bus."""

    def sysfs_value(kind: str, name: str) -> Any:
        return read_value(kind, world.text(f"{folder}/{name}"))

    return PcieLink(
        gen=sysfs_value("gen", "current_link_speed"),
        gen_max=sysfs_value("gen", "max_link_speed"),
        lanes=sysfs_value("lanes", "current_link_width"),
        lanes_max=sysfs_value("lanes", "max_link_width"),
    )
