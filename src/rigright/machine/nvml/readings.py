"""The table of readings: what is asked of the driver, and which command of the system shows the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, read_rows, text

_COLUMNS = ("reading", "call", "given", "takes", "each", "when", "see", "kind")
_PLANS = {
    "full": {"full", "rare", "moved", "both"},
    "tick": {"both"},
    "moved": {"moved"},
    "rare": {"rare"},
    "activity": {"activity"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to read one thing."""

    reading: str
    call: str
    given: str
    takes: str
    each: str
    when: str  # "full": once; "both": at each tick too; "rare": at few; "moved": also when memory was taken;
    # "activity": at each tick of those who ask for it
    see: str
    kind: (
        str  # what the field of this name is made of it by: "text", "whole", "flag", "milli", "mega", "real"
    )

    @property
    def row(self) -> list[str]:
        """As the child is told it."""
        return [self.reading, self.call, self.given, self.takes, self.each]


@cache
def readings() -> tuple[Reading, ...]:
    """All of them, in the order they are asked for."""
    rows = read_rows(
        DATA / "readings.csv", dict.fromkeys(_COLUMNS, text), required=("reading", "call", "when")
    )
    return tuple(Reading(**{name: row[name] or "" for name in _COLUMNS}) for row in rows)


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
def places_of() -> Mapping[str, Mapping[str, int]]:
    """Reading -> the names of the values it brings, each with its place."""
    rows = reversed(readings())  # the first way has most
    return {
        reading.reading: {name: place for place, name in enumerate(reading.takes.split())} for reading in rows
    }
