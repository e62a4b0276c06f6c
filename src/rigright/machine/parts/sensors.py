"""Sensors of the board and its power supplies: hwmon, the management controller (IPMI), lm-sensors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.units import KILO, MEGA
from rigright.base.words import say
from rigright.machine.cells import real, whole_of, word_of
from rigright.machine.host import Sensor
from rigright.machine.record import Read, Unseen, telling
from rigright.machine.values import blocks
from rigright.machine.world import World

_MOST_LINES = 2000
_UNITS = {
    "degrees c": "temperature", "volts": "volt", "rpm": "fan", "watts": "power", "amps": "current",
}  # fmt: skip
_HARMLESS = {"ok", "ns", "na", ""}
_SUPPLY = re.compile(r"(?i)^(?=.*\b(?:psu?|power supply|pwr|supply)\s*[-_#]?\d*\b|.*\bPSU?\d)")
_SUPPLY_BITS = (  # sensor type 08h of the IPMI specification, table 42-3; bit 0 is presence
    (1, "failed"), (2, "about to fail"), (3, "input lost"), (4, "input lost or out of range"),
    (5, "input out of range"), (6, "wrong configuration"),
)  # fmt: skip
_STATE = re.compile(r"0x([0-9a-fA-F]{2,4})")


def read_sensors(text: str) -> tuple[Sensor, ...]:
    """The long list: name, value, unit, status, and six limits from lower not-recoverable up."""
    return tuple(sensor for cells in _rows(text) if len(cells) >= 10 and (sensor := _long(cells)) is not None)


def read_sdr(text: str) -> tuple[Sensor, ...]:
    """The short list: name, "12.10 Volts", status."""
    return tuple(sensor for cells in _rows(text) if len(cells) >= 3 and (sensor := _short(cells)) is not None)


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines()[:_MOST_LINES]:
        if "|" in line:
            yield [cell.strip() for cell in line.split("|")]


def _long(cells: list[str]) -> Sensor | None:
    name, value, unit, status = cells[:4]
    if unit.lower() == "discrete":
        return _supply(name, status) if _SUPPLY.search(name) else None
    kind = _UNITS.get(unit.lower())
    number = real(value)
    if kind is None or number is None:
        return None
    low = _limit(cells[6], cells[5])
    high = _limit(cells[7], cells[8])
    return Sensor(
        name=name, kind=kind, value=number, low=low, high=high, status=_status(status), source="ipmi"
    )


def _limit(*cells: str) -> float | None:
    """The nearer limit, where it is set; many boards set the farther alone."""
    return next((number for cell in cells if (number := real(cell)) is not None), None)


def _short(cells: list[str]) -> Sensor | None:
    name, text, status = cells[:3]
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?) (degrees C|Volts|RPM|Watts|Amps)", text)
    if match is not None:
        kind = _UNITS[match.group(2).lower()]
        return Sensor(
            name=name, kind=kind, value=float(match.group(1)), status=_status(status), source="ipmi"
        )
    return _supply(name, text) if _SUPPLY.search(name) and _STATE.fullmatch(text) else None


def _status(status: str) -> str | None:
    """A status in words: "cr", "nc", "nr" are a limit passed."""
    words = {
        "cr": "critical",
        "nr": "beyond repair",
        "nc": "beyond a limit",
        "lcr": "critical",
        "ucr": "critical",
    }
    return None if status.lower() in _HARMLESS - {"ok"} else words.get(status.lower(), status.lower())


def _supply(name: str, state: str) -> Sensor | None:
    """A power supply's state, whose second byte from the left holds the bits."""
    match = _STATE.fullmatch(state)
    if match is None or ("status" not in name.lower() and "state" not in name.lower()):
        return None
    text = match.group(1)
    bits = int(text[:2], 16) if len(text) == 4 else int(text, 16)
    wrong = [word for bit, word in _SUPPLY_BITS if bits >> bit & 1]
    absent = not bits & 1
    status = ", ".join(wrong) if wrong else "absent" if absent else "ok"
    return Sensor(name=name, kind="supply", status=status, source="ipmi")


_HWMON = "/sys/class/hwmon"
DOORS = ("/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0")
PATIENCE_S = 2.5
_SEE_IPMI = "sudo ipmitool sensor"
_MOST = 128
_KINDS = {  # prefix of the kernel's files -> kind, and how many of the kernel's units make one of ours
    "in": ("volt", KILO), "temp": ("temperature", KILO), "fan": ("fan", 1.0), "power": ("power", MEGA),
    "curr": ("current", KILO),
}  # fmt: skip
_INPUT = re.compile(r"((in|temp|fan|power|curr)\d{1,3})_(?:input|average)")


def read(world: World) -> Read:
    """Every sensor that has a reading."""
    sensors = [sensor for name in world.names(_HWMON)[:_MOST] for sensor in _chip(world, f"{_HWMON}/{name}")]
    board, unseen = _board(world)
    seen = world.has(_HWMON) or bool(board)
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
        return (), (Unseen(what="sensors.ipmi", why=why, see=_SEE_IPMI),)
    reply = world.run("ipmitool", "sensor", patience_s=PATIENCE_S)
    sensors = read_sensors(reply.out) if reply is not None and reply.code == 0 else ()
    if not sensors and not world.is_live and (reply := world.run("ipmitool", "sdr")) is not None:
        sensors = read_sdr(reply.out)
    if sensors or door is None:
        return sensors, ()
    why = say("the BMC timed out, or ipmitool is not installed")
    return (), (Unseen(what="sensors.ipmi", why=why, see=_SEE_IPMI),)


_MOST_READINGS = 512
_CHIP_HEAD = re.compile(r"^([\w-]{1,60})\n(?:Adapter: .{1,80})\n", re.MULTILINE)
_LINE = re.compile(
    r"^(?P<name>[^\n:]{1,60}): +(?P<value>[+-]?\d{1,6}(?:\.\d{1,4})?) ?(?P<unit>°?C|m?V|RPM|W|m?A)\b"
)
_LIMIT = re.compile(r"\b(low|min|high|max|crit) *= *([+-]?\d{1,6}(?:\.\d{1,4})?)")
_PRINTED_UNITS = {"C": "temperature", "V": "volt", "RPM": "fan", "W": "power", "A": "current"}
_CHIP_KINDS = {"temp": "temperature", "in": "volt", "fan": "fan", "power": "power", "curr": "current"}
_READING = re.compile(r"(temp|in|fan|power|curr)\d{1,3}_(input|average|min|max|crit|alarm)")


def is_lm_sensors(text: str) -> bool:
    """Whether it is a list of lm-sensors."""
    return _CHIP_HEAD.search(text) is not None or any(_of_json(text))


def read_lm_sensors(text: str) -> Read:
    """Every sensor with a reading, of its text or its JSON."""
    sensors = list(_of_json(text)) or list(_of_text(text))
    return Read(fields=telling(sensors=tuple(sensors[:_MOST_READINGS])))


def _of_text(text: str) -> Iterator[Sensor]:
    for head, below in blocks(text, _CHIP_HEAD, most=_MOST_READINGS):
        lines: list[str] = []
        for line in below.splitlines()[:_MOST_READINGS]:
            if line.startswith(" ") and lines:  # limits that found no room behind the reading
                lines[-1] += line
            else:
                lines.append(line)
        for line in lines:
            match = _LINE.match(line[:400])
            if match is None:
                continue
            unit = match["unit"].lstrip("°")
            scale = 1e-3 if unit.startswith("m") else 1.0
            limits = {name: float(value) * scale for name, value in reversed(_LIMIT.findall(line[:400]))}
            kind = _PRINTED_UNITS[unit.lstrip("m")]
            yield _sensor(head[1], match["name"].strip(), kind=kind, value=float(match["value"]) * scale,
                          limits=limits, alarm="ALARM" in line)  # fmt: skip


def _of_json(text: str) -> Iterator[Sensor]:
    try:
        value = bounded_json(text) if text.lstrip().startswith("{") else None
    except ValueError:
        return
    for chip, features in list(value.items())[:_MOST_READINGS] if isinstance(value, dict) else ():
        if not isinstance(features, dict) or "Adapter" not in features:
            continue
        for name, readings in list(features.items())[:_MOST_READINGS]:
            if (
                isinstance(readings, dict)
                and (sensor := _feature(str(chip), str(name), readings=readings)) is not None
            ):
                yield sensor


def _feature(chip: str, name: str, *, readings: dict[str, Any]) -> Sensor | None:
    kind, values = None, {}
    for key, value in list(readings.items())[:_MOST_READINGS]:
        match = _READING.fullmatch(str(key))
        number = real(str(value)) if match and isinstance(value, int | float) else None
        if match and number is not None:
            kind = _CHIP_KINDS[match[1]]
            values[match[2]] = number
    value = values.get("input", values.get("average"))
    if kind is None or value is None:
        return None
    return _sensor(chip, name, kind=kind, value=value, limits=values, alarm=values.get("alarm", 0.0) > 0)


def _sensor(
    chip: str, name: str, *, kind: str, value: float, limits: dict[str, float], alarm: bool
) -> Sensor:
    """As the kernel's own files are read: a limit of nothing is none."""
    low = limits.get("min", limits.get("low"))
    high = limits.get("high", limits.get("max")) or limits.get("crit")
    return Sensor(
        name=f"{chip.partition('-')[0]}/{name}"[:120],
        kind=kind,
        value=value,
        low=low if low and low > 0 else None,
        high=high if high and high > 0 else None,
        status="alarm" if alarm else None,
        source="hwmon",
    )
