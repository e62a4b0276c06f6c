"""Words of notes into columns: each is read once, where a row comes in, and only into an empty cell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

from rigright.base.record import dataclass
from rigright.base.tables import DATA, CellReader, Row, read_cells, read_toml
from rigright.verbs.validate.named import named

MOST_CHARS = 2000  # of a text that is read
MANY = 4096  # texts that are remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What some words of a note say."""

    column: str
    sources: tuple[str, ...]  # the columns whose text is read
    pattern: re.Pattern[str]
    cell: str | None  # what they stand for; None: their first group that matched
    metric: frozenset[str]  # rows they hold for; none: all
    mode: frozenset[str]


def filled(kind: str, row: Row, *, raw: Mapping[str, str], readers: Mapping[str, CellReader]) -> Row:
    """A row whose empty cells hold what its note says of them."""
    fields: Row = {}
    for words, cell in _words_in(kind, raw):
        if row.get(words.column) is None and words.column not in fields and _holds(words, row):
            try:
                fields[words.column] = readers[words.column](cell)
            except ValueError:  # a number no run can have
                continue
    row = {**row, **fields}
    return named(row, raw) if kind == "memory" else row


def noted_cells(
    kind: str, raw: Mapping[str, str], *, readers: Mapping[str, CellReader], required: tuple[str, ...] = ()
) -> tuple[Row, list[str]]:
    """The typed cells of a row, those that its notes fill among them; and the columns that cannot be read."""
    row, faults = read_cells(raw, readers, required=required)
    return filled(kind, row, raw=raw, readers=readers), faults


def _words_in(kind: str, raw: Mapping[str, str]) -> list[tuple[Noted, str]]:
    """The words that the texts of a row say, and what each stands for, in their order."""
    rows: list[tuple[int, Noted, str]] = []
    for sources in _sources(kind):
        text = "; ".join(filter(None, map(raw.get, sources)))
        rows += _noted(kind, sources, text=text[:MOST_CHARS]) if text else ()
    return [(words, cell) for _, words, cell in sorted(rows, key=itemgetter(0))]


@cache
def _sources(kind: str) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(words.sources for words in noted(kind)))


@lru_cache(maxsize=MANY)
def _noted(kind: str, sources: tuple[str, ...], *, text: str) -> tuple[tuple[int, Noted, str], ...]:
    """What a text says; runs of one place often bear one note."""
    rows = (
        (place, words, words.pattern.search(text))
        for place, words in enumerate(noted(kind))
        if words.sources == sources
    )
    cells = (
        (place, words, words.cell or next(filter(None, match.groups()), None))
        for place, words, match in rows
        if match is not None
    )
    return tuple((place, words, cell) for place, words, cell in cells if cell is not None)


def _holds(words: Noted, row: Row) -> bool:
    return (not words.metric or row.get("metric") in words.metric) and (
        not words.mode or not row.get("mode") or row["mode"] in words.mode
    )


@cache
def noted(kind: str) -> tuple[Noted, ...]:
    """The words of a kind of table (data/notes.toml), in their order."""
    table = read_toml(DATA / "notes.toml")
    rows: list[dict[str, Any]] = table.get(table["same"].get(kind, kind), [])
    return tuple(
        Noted(
            column=row["column"],
            sources=tuple(row.get("from", ["note"])),
            pattern=re.compile(row["pattern"]),
            cell=row.get("cell"),
            metric=frozenset(row.get("metric", ())),
            mode=frozenset(row.get("mode", ())),
        )
        for row in rows
    )
