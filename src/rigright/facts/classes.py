"""Classes of chips: which chips are alike in what they reach, so that few runs teach about many."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_rows, text
from rigright.facts.chips import Chip


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipClass:
    """Chips alike; an empty cell of the table fits all."""

    vendor: str | None
    architecture: str | None
    segment: str | None
    id: str
    kin: str  # the wider class it belongs to

    def holds(self, chip: Chip) -> bool:
        """Whether a chip is of it."""
        return all(
            getattr(self, name) in {None, getattr(chip, name)}
            for name in ("vendor", "architecture", "segment")
        )


@cache
def classes() -> tuple[ChipClass, ...]:
    """Every class, in the order they are tried."""
    readers = dict.fromkeys(("vendor", "architecture", "segment", "class", "kin"), text)
    rows = read_rows(DATA / "chip_classes.csv", readers, required=("class", "kin"))
    return tuple(ChipClass(id=row.pop("class"), **row) for row in map(dict, rows))


@cache
def class_of(chip: Chip) -> ChipClass:
    """The first class a chip is of; the last holds all."""
    return next(one for one in classes() if one.holds(chip))


def kin_of(name: str) -> str:
    """The kin of a class, by its name; a class that no table knows is its own."""
    return _kins().get(name, name)


@cache
def _kins() -> Mapping[str, str]:
    return {one.id: one.kin for one in reversed(classes())}


def terms_of(tables: Mapping[str, Mapping[str, Any]], chip: Chip) -> dict[str, Any]:
    """The terms of a chip: its own before its class's, its class's before its kin's, then everybody's."""
    kind = class_of(chip)
    merged: dict[str, Any] = {}
    for key in ("all", kind.kin, kind.id, chip.id):
        merged.update(tables.get(key, {}))
    return merged
