"""Classes of chips: which chips are alike in what they reach, so that few runs teach about many."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_rows, text


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipClass:
    """Chips alike; an empty cell of the table fits all."""

    vendor: str | None
    architecture: str | None
    segment: str | None
    id: str
    kin: str  # the wider class it belongs to


@cache
def classes() -> tuple[ChipClass, ...]:
    """Every class, in the order they are tried."""
    readers = dict.fromkeys(("vendor", "architecture", "segment", "class", "kin"), text)
    rows = read_rows(DATA / "chip_classes.csv", readers, required=("class", "kin"))
    return tuple(ChipClass(id=row.pop("class"), **row) for row in map(dict, rows))


@cache
def class_of(vendor: str, architecture: str, *, segment: str) -> ChipClass:
    """The first class such chips are of; the last holds all."""
    return next(
        one
        for one in classes()
        if one.vendor in {None, vendor}
        and one.architecture in {None, architecture}
        and one.segment in {None, segment}
    )


def kin_of(name: str) -> str:
    """The kin of a class, by its name; a class that no table knows is its own."""
    return _kins().get(name, name)


@cache
def _kins() -> Mapping[str, str]:
    return {one.id: one.kin for one in reversed(classes())}
