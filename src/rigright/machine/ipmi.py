"""What `ipmitool sensor` and `ipmitool sdr` write, as sensors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.machine.cells import real
from rigright.machine.host import Sensor

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
