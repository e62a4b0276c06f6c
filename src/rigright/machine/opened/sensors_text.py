"""What lm-sensors prints (`sensors`, `sensors -j`), as sensors of the board."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.machine.cells import real
from rigright.machine.host import Sensor
from rigright.machine.record import Read, telling
from rigright.machine.values import blocks

_MOST = 512
_CHIP = re.compile(r"^([\w-]{1,60})\n(?:Adapter: .{1,80})\n", re.MULTILINE)
_LINE = re.compile(
    r"^(?P<name>[^\n:]{1,60}): +(?P<value>[+-]?\d{1,6}(?:\.\d{1,4})?) ?(?P<unit>°?C|m?V|RPM|W|m?A)\b"
)
_LIMIT = re.compile(r"\b(low|min|high|max|crit) *= *([+-]?\d{1,6}(?:\.\d{1,4})?)")
_UNITS = {"C": "temperature", "V": "volt", "RPM": "fan", "W": "power", "A": "current"}
_KINDS = {"temp": "temperature", "in": "volt", "fan": "fan", "power": "power", "curr": "current"}
_READING = re.compile(r"(temp|in|fan|power|curr)\d{1,3}_(input|average|min|max|crit|alarm)")


def is_sensors(text: str) -> bool:
    """Whether it is a list of lm-sensors."""
    return _CHIP.search(text) is not None or any(_of_json(text))


def read_text(text: str) -> Read:
    """Every sensor with a reading, of its text or its JSON."""
    sensors = list(_of_json(text)) or list(_of_text(text))
    return Read(fields=telling(sensors=tuple(sensors[:_MOST])))


def _of_text(text: str) -> Iterator[Sensor]:
    for head, below in blocks(text, _CHIP, most=_MOST):
        lines: list[str] = []
        for line in below.splitlines()[:_MOST]:
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
            kind = _UNITS[unit.lstrip("m")]
            yield _sensor(head[1], match["name"].strip(), kind=kind, value=float(match["value"]) * scale,
                          limits=limits, alarm="ALARM" in line)  # fmt: skip


def _of_json(text: str) -> Iterator[Sensor]:
    try:
        value = bounded_json(text) if text.lstrip().startswith("{") else None
    except ValueError:
        return
    for chip, features in list(value.items())[:_MOST] if isinstance(value, dict) else ():
        if not isinstance(features, dict) or "Adapter" not in features:
            continue
        for name, readings in list(features.items())[:_MOST]:
            if (
                isinstance(readings, dict)
                and (sensor := _feature(str(chip), str(name), readings=readings)) is not None
            ):
                yield sensor


def _feature(chip: str, name: str, *, readings: dict[str, Any]) -> Sensor | None:
    kind, fields = None, {}
    for key, value in list(readings.items())[:_MOST]:
        match = _READING.fullmatch(str(key))
        number = real(str(value)) if match and isinstance(value, int | float) else None
        if match and number is not None:
            kind = _KINDS[match[1]]
            fields[match[2]] = number
    value = fields.get("input", fields.get("average"))
    if kind is None or value is None:
        return None
    return _sensor(chip, name, kind=kind, value=value, limits=fields, alarm=fields.get("alarm", 0.0) > 0)


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
