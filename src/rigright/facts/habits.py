"""Packages and variables that guides of old still spread: what is wrong with each."""

from __future__ import annotations

from functools import cache

from rigright.base.tables import DATA, CellReader, Row, read_rows, text, yes
from rigright.base.words import Sentence


@cache
def packages_gone() -> dict[str, Row]:
    """Python packages that are discontinued or renamed: do they harm, why, and what to install instead."""
    readers: dict[str, CellReader] = {"name": text, "harms": yes, "reason": Sentence, "instead": text}
    rows = read_rows(DATA / "packages_gone.csv", readers, required=("name", "harms", "reason"))
    return {row["name"]: row for row in rows}


@cache
def slowing_variables() -> tuple[Row, ...]:
    """Variables that slow programs down where they have that value, how badly, and why."""
    readers: dict[str, CellReader] = {"name": text, "value": text, "severity": text, "why": Sentence}
    return tuple(read_rows(DATA / "slow_variables.csv", readers, required=tuple(readers)))
