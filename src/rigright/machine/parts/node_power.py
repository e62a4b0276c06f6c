"""What the whole node draws: by its management controller, or by what the kernel knows of its supplies.

The controller's own reading (DCMI) is that of the whole node. Boards without it name a sensor for it; the
kernel's ACPI power meter is the same. Supplies summed up are what goes into them, fans and losses too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import fsum

from rigright.base.units import show_watts
from rigright.base.words import Sentence, say
from rigright.machine.host import NodePower, Sensor
from rigright.machine.parts import sensors
from rigright.machine.record import Read
from rigright.machine.world import World

_PATIENCE_S = 5.0  # the controller takes its time
_MOST_W = 200_000.0  # of a node: above it is no reading
_DCMI = re.compile(r"Instantaneous power reading:\s*(\d{1,6}) Watts")
_WHOLE = re.compile(
    r"(?i)(?:^|[ /_-])(?:sys(?:tem)?|total|chassis|node|server)[ _-]?(?:input[ _-]?)?(?:power|pwr|level)"
    r"|pwr consumption|power_meter|power consumption"
)
_SUPPLY = re.compile(r"(?i)\b(?:ps|psu)[ _-]?\d{1,2}\b.*(?:in|ac)|psu?\d{1,2}[ _-]?(?:input|pin|in|power in)")


def read(world: World) -> Read:
    """What the controller itself says; sensors are a part of their own."""
    power = _of_controller(world)
    return Read(fields={} if power is None else {"node_power": power})


def node_power(world: World) -> NodePower | None:
    """What it draws now; None where nobody knows."""
    return _of_controller(world) or of_sensors(sensors.read(world).fields.get("sensors") or ())


def _of_controller(world: World) -> NodePower | None:
    if not any(world.has(door) for door in sensors.DOORS):
        return None
    reply = world.run("ipmitool", "dcmi", "power", "reading", patience_s=_PATIENCE_S)
    match = _DCMI.search(reply.out) if reply is not None and reply.code == 0 else None
    return (
        NodePower(watts=float(match[1]), source="dcmi") if match and 0 < float(match[1]) < _MOST_W else None
    )


def of_sensors(sensors: Sequence[Sensor]) -> NodePower | None:
    """The sensor of the whole node, else the supplies' inputs together."""
    meters = [(is_whole, sensor.value or 0.0) for is_whole, sensor in meters_of(sensors)]
    whole = [watts for is_whole, watts in meters if is_whole]
    if whole:
        return NodePower(watts=max(whole), source="sensor")
    return NodePower(watts=sum(watts for _, watts in meters), source="supplies") if meters else None


def meters_of(sensors: Sequence[Sensor]) -> Iterator[tuple[bool, Sensor]]:
    """Sensors of power: whether one is of the whole node, else of a supply."""
    powers = {
        item.name: item for item in sensors if item.kind == "power" and 0 < (item.value or 0.0) < _MOST_W
    }
    for name, sensor in powers.items():
        is_whole = bool(_WHOLE.search(name))
        if is_whole or _SUPPLY.search(name):
            yield is_whole, sensor


def beside_cards(power: NodePower, draws: Iterable[float | None]) -> Sentence:
    """What the node draws, and what its cards take of it."""
    known = [draw for draw in draws if draw is not None]
    if not known:
        return say("node {power}", power=show_watts(power.watts))
    return say("node {power}, its GPUs {cards}", power=show_watts(power.watts), cards=show_watts(fsum(known)))
