"""The table of readings: what is asked of the driver and which command shows the same; a device's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.base.units import KILO, MEGA
from rigright.machine.nvml.codes import LOST, NOT_LOADED, UNKNOWN

_PLANS = {
    "full": {"full", "rare", "moved", "both"},
    "tick": {"both"},
    "moved": {"moved"},
    "rare": {"rare"},
    "activity": {"activity"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One way to read one thing."""

    reading: str
    call: str
    when: str  # "full": once; "both": at each tick too; "rare": at few; "moved": also when memory was taken;
    # "activity": at each tick of those who ask for it
    given: str = ""
    takes: str = ""
    each: str = ""
    see: str = ""
    kind: str = ""  # how the field of this name is made: "text", "whole", "flag", "milli", "mega", "real"

    @property
    def row(self) -> list[str]:
        """As the child is told it."""
        return [self.reading, self.call, self.given, self.takes, self.each]


@cache
def readings() -> tuple[_Reading, ...]:
    """All of them, in the order they are asked for."""
    return records("readings.csv", _Reading)


@cache
def plans() -> Mapping[str, list[list[str]]]:
    """The rows of a full reading, of a tick, and of what a tick reads rarely or when memory was taken."""
    return {
        name: [reading.row for reading in readings() if reading.when in when] for name, when in _PLANS.items()
    }


@cache
def rare() -> frozenset[str]:
    """The readings that a tick does not always bring."""
    return frozenset(
        {"slices", *(reading.reading for reading in readings() if reading.when in {"rare", "moved"})}
    )


@cache
def see_of() -> Mapping[str, str]:
    """Reading -> the command that shows it."""
    return {reading.reading: reading.see for reading in readings() if reading.see}


@cache
def kinds() -> Mapping[str, str]:
    """Reading -> its kind, of those that are a field as they come."""
    return {reading.reading: reading.kind for reading in readings() if reading.kind}


@cache
def _places_of() -> Mapping[str, Mapping[str, int]]:
    """Reading -> the names of the values it brings, each with its place."""
    rows = reversed(readings())  # the first way has most
    return {
        reading.reading: {name: place for place, name in enumerate(reading.takes.split())} for reading in rows
    }


_NOT_KNOWN = {2**32 - 1, 2**64 - 1}  # what the driver writes where it knows no number


@dataclass(frozen=True, slots=True)
class Raw:
    """The readings of one device."""

    values: Mapping[str, Any]

    def failed(self, reading: str) -> int | None:
        """The code that came instead; None where there is a value, or nobody asked."""
        value = self.values.get(reading)
        code = value.get("!") if isinstance(value, dict) else None
        return code if isinstance(code, int) else None

    def value(self, reading: str) -> Any:
        """A value as it came."""
        value = self.values.get(reading)
        return None if isinstance(value, dict) else value

    def text(self, reading: str) -> str | None:
        """A value that is text."""
        value = self.value(reading)
        return value.strip() or None if isinstance(value, str) else None

    def whole(self, reading: str) -> int | None:
        """A count."""
        return _whole(self.values.get(reading))

    def flag(self, reading: str) -> bool | None:
        """A yes or no."""
        number = self.whole(reading)
        return None if number is None else bool(number)

    def milli(self, reading: str) -> float | None:
        """A quantity that the driver tells in thousandths."""
        number = self.whole(reading)
        return None if number is None else number / KILO

    def scaled(self, reading: str, factor: float) -> float | None:
        """A quantity in SI units."""
        number = self.whole(reading)
        return None if number is None else number * factor

    def fields(self) -> dict[str, Any]:
        """Every field that is one reading by itself, where it was read."""
        result = {reading: _KINDS[kind](self, reading) for reading, kind in kinds().items()}
        return {field: value for field, value in result.items() if value is not None}

    def items(self, reading: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self.value(reading)
        return value if isinstance(value, list) else []

    def numbers(self, reading: str, count: int) -> tuple[int | None, ...]:
        """The first so many numbers of a list; None for each that is missing."""
        result = [_whole(value) for value in self.items(reading)[:count]]
        return (*result, *(None,) * (count - len(result)))

    def flags(self, reading: str, count: int) -> tuple[bool | None, ...]:
        """The same as yes or no."""
        return tuple(None if number is None else bool(number) for number in self.numbers(reading, count))

    def named(self, reading: str, name: str) -> Any:
        """One of several values, by its name in the table."""
        value = self.values.get(reading)
        place = _place(reading, name)
        return value[place] if type(value) is list and place < len(value) else None

    def counts(self, reading: str) -> list[tuple[str, int]]:
        """Those of several named values that are numbers."""
        names = _places_of().get(reading, {})
        return [(name, number) for name in names if (number := self.number(reading, name)) is not None]

    def number(self, reading: str, name: str) -> int | None:
        """One of several values, a number."""
        value = self.values.get(reading)
        place = _place(reading, name)
        return _whole(value[place]) if type(value) is list and place < len(value) else None


_KINDS: dict[str, Callable[[Raw, str], object]] = {
    "text": Raw.text,
    "whole": Raw.whole,
    "flag": Raw.flag,
    "milli": Raw.milli,
    "mega": lambda raw, reading: raw.scaled(reading, MEGA),
    "real": lambda raw, reading: raw.scaled(reading, 1.0),
}
_NOWHERE = 2**31


@cache
def _place(reading: str, name: str) -> int:
    """Where in an answer the table has a value."""
    return _places_of().get(reading, {}).get(name, _NOWHERE)


def _whole(value: object) -> int | None:
    return value if type(value) is int and value not in _NOT_KNOWN else None


def floats(value: object) -> float | None:
    """A number as a float."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


_VITAL = ("mem", "busy", "thermal.gpu_c")
_GONE = {1, NOT_LOADED, LOST, UNKNOWN}


def is_gone(raw: Raw) -> bool:
    """Whether the device cannot be reached: no handle, or nothing that matters is answered any more."""
    return raw.failed("handle") is not None or all(raw.failed(text) in _GONE for text in _VITAL)
