"""What the whole node draws: by its management controller, or by what the kernel knows of its supplies.

The controller's own reading (DCMI) is that of the whole node. Boards without it name a sensor for it; the
kernel's ACPI power meter is the same. Supplies summed up are what goes into them, fans and losses too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rigright.machine.host import Sensor
from rigright.machine.parts import sensors
from rigright.machine.world import World

PATIENCE_S = 5.0  # the controller takes its time
MOST_W = 200_000.0  # of a node: above it is no reading
_DCMI = re.compile(r"Instantaneous power reading:\s*(\d{1,6}) Watts")
_WHOLE = re.compile(
    r"(?i)(?:^|[ /_-])(?:sys(?:tem)?|total|chassis|node|server)[ _-]?(?:input[ _-]?)?(?:power|pwr|level)"
    r"|pwr consumption|power_meter|power consumption"
)
_SUPPLY = re.compile(r"(?i)\b(?:ps|psu)[ _-]?\d{1,2}\b.*(?:in|ac)|psu?\d{1,2}[ _-]?(?:input|pin|in|power in)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePower:
    """Watts of the node, and who says so."""

    watts: float
    source: str  # "dcmi", "sensor", "supplies"


def node_power(world: World) -> NodePower | None:
    """What it draws now; None where nobody knows."""
    if any(world.has(one) for one in sensors.DOORS):
        said = world.run("ipmitool", "dcmi", "power", "reading", patience_s=PATIENCE_S)
        told = _DCMI.search(said.out) if said is not None and said.code == 0 else None
        if told is not None and 0 < float(told[1]) < MOST_W:
            return NodePower(watts=float(told[1]), source="dcmi")
    return of_sensors(sensors.read(world).fields.get("sensors") or ())


def of_sensors(found: Sequence[Sensor]) -> NodePower | None:
    """The sensor of the whole node, else the supplies' inputs together."""
    powers = {one.name: one.value or 0.0 for one in found if one.kind == "power"}
    known = {name: watts for name, watts in powers.items() if 0 < watts < MOST_W}
    whole = [watts for name, watts in known.items() if _WHOLE.search(name)]
    if whole:
        return NodePower(watts=max(whole), source="sensor")
    supplies = [watts for name, watts in known.items() if _SUPPLY.search(name)]
    return NodePower(watts=sum(supplies), source="supplies") if supplies else None
