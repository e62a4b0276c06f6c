"""Fields of a device by the words that a tool has for them; which stand for which is a table of `data/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rigright.base.tables import DATA, raw_rows
from rigright.machine.device_text.values import read_value


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    kind: str
    words: Mapping[str, tuple[tuple[str, ...], ...]]


@cache
def _rows(table: str) -> tuple[_Row, ...]:
    """Of each field and form the words to try in turn, each a sum of one or more."""
    return tuple(
        _Row(
            row["field"],
            row["kind"],
            {
                form: tuple(tuple(text.split("+")) for text in cell.split(";") if text)
                for form, cell in row.items()
                if form not in {"field", "kind"}
            },
        )
        for _, row in raw_rows(DATA / table, required=("field", "kind"))
    )


def words(table: str, form: str) -> frozenset[str]:
    """Every word of one form that says something we keep."""
    return frozenset(word for row in _rows(table) for sums in row.words[form] for word in sums)


def read_fields(table: str, form: str, *, values: Mapping[str, str]) -> dict[str, Any]:
    """Every field of the table that these values say something of."""
    fields = {}
    for row in _rows(table):
        value = _first(row, form, values=values)
        if value is not None:
            fields[row.name] = value
    return fields


def _first(row: _Row, form: str, *, values: Mapping[str, str]) -> Any:
    for sums in row.words[form]:
        given = [read_value(row.kind, values.get(word)) for word in sums]
        known: list[Any] = [value for value in given if value is not None]
        if known:
            return known[0] if len(sums) == 1 else sum(known)
    return None
