"""Sensors of the board and its power supplies: the kernel's hwmon, and the management controller's (IPMI)."""

from __future__ import annotations

import re

from rigright.base.units import KILO, MEGA
from rigright.base.words import say
from rigright.machine.cells import whole_of, word_of
from rigright.machine.host import Sensor
from rigright.machine.ipmi import read_sdr, read_sensors
from rigright.machine.record import Read, Unseen
from rigright.machine.world import World

HWMON = "/sys/class/hwmon"
DOORS = ("/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0")
PATIENCE_S = 2.5
SEE_IPMI = "sudo ipmitool sensor"
_MOST = 128
_KINDS = {  # prefix of the kernel's files -> kind, and how many of the kernel's units make one of ours
    "in": ("volt", KILO), "temp": ("temperature", KILO), "fan": ("fan", 1.0), "power": ("power", MEGA),
    "curr": ("current", KILO),
}  # fmt: skip
_INPUT = re.compile(r"((in|temp|fan|power|curr)\d{1,3})_(?:input|average)")


def read(world: World) -> Read:
    """Every sensor that has a reading."""
    sensors = [sensor for name in world.names(HWMON)[:_MOST] for sensor in _chip(world, f"{HWMON}/{name}")]
    board, unseen = _board(world)
    seen = world.has(HWMON) or bool(board)
    return Read(fields={"sensors": (*sensors, *board) if seen else None}, unseen=unseen)


def _chip(world: World, at: str) -> list[Sensor]:
    """The sensors of one chip of the kernel's."""
    chip = word_of(world, f"{at}/name") or at.rpartition("/")[2]
    sensors: dict[str, Sensor] = {}
    for file in world.names(at):
        match = _INPUT.fullmatch(file)
        if match and match.group(1) not in sensors:
            value = whole_of(world, f"{at}/{file}")
            if value is not None:
                start = f"{at}/{match.group(1)}"
                name = start.rpartition("/")[2]
                kind, scale = _KINDS[name.rstrip("0123456789")]
                limits = {limit: whole_of(world, f"{start}_{limit}") for limit in ("min", "max", "crit")}
                high = limits["max"] if limits["max"] and limits["max"] > 0 else limits["crit"]
                alarm = whole_of(world, f"{start}_alarm")
                sensors[match.group(1)] = Sensor(
                    name=f"{chip}/{word_of(world, f'{start}_label') or name}",
                    kind=kind,
                    value=value / scale,
                    low=limits["min"] / scale if limits["min"] and limits["min"] > 0 else None,
                    high=high / scale if high and high > 0 else None,
                    status={0: "ok", 1: "alarm"}.get(alarm) if alarm is not None else None,
                    source="hwmon",
                )
    return list(sensors.values())


def _board(world: World) -> tuple[tuple[Sensor, ...], tuple[Unseen, ...]]:
    """What the management controller says; a machine without one says nothing, and nothing is missed."""
    door = next((door for door in DOORS if world.has(door)), None)
    if world.is_live and world.commands is None and door is None:
        return (), ()
    if door is not None and world.denied(door):
        why = say("only root can query the BMC")
        return (), (Unseen(what="sensors.ipmi", why=why, see=SEE_IPMI),)
    reply = world.run("ipmitool", "sensor", patience_s=PATIENCE_S)
    sensors = read_sensors(reply.out) if reply is not None and reply.code == 0 else ()
    if not sensors and not world.is_live and (reply := world.run("ipmitool", "sdr")) is not None:
        sensors = read_sdr(reply.out)
    if sensors or door is None:
        return sensors, ()
    why = say("the BMC timed out, or ipmitool is not installed")
    return (), (Unseen(what="sensors.ipmi", why=why, see=SEE_IPMI),)
