"""Reads the plain tables of `data/` (and of users) into frozen records.

A reader is a mapping from column name to a function that turns a cell's text into a value.
An empty cell is None before any reader sees it. An error names file, row and column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rigright.base.bounded import MOST_ROWS, bounded_csv, bounded_toml
from rigright.base.compiled import toml_table
from rigright.base.errors import DataError, RigError
from rigright.base.files import read_bounded, too_large, unread
from rigright.base.units import MIB, NO, YES
from rigright.base.words import say

DATA = Path(__file__).parent.parent / "data"
MAX_TABLE_BYTES = 64 * MIB
MAX_TOML_BYTES = 4 * MIB
MOST_WHY_CHARS = 200

CellReader = Callable[[str], object]
Row = dict[str, Any]


def text(cell: str) -> str:
    """A cell kept as it is."""
    return cell


def whole(cell: str) -> int:
    """A cell that is a whole number."""
    return int(cell)


def number(cell: str) -> float:
    """A cell that is a finite number."""
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(cell)
    return value


def scaled(factor: float) -> Callable[[str], float]:
    """A reader for a column in another unit: multiply by the factor to get SI or bytes."""
    return lambda cell: number(cell) * factor


def yes(cell: str) -> bool:
    """A cell that is y/n, yes/no, true/false, on/off or 1/0."""
    text = cell.strip().lower()
    if text not in YES | NO:
        raise ValueError(cell)
    return text in YES


def read_rows(path: Path, readers: Mapping[str, CellReader], *, required: tuple[str, ...] = ()) -> list[Row]:
    """Read a whole CSV; the first bad cell is an error."""
    return read_all(path, raw_rows(path, required=tuple(readers)), readers=readers, required=required)


def read_all(
    path: Path,
    rows: Iterable[tuple[int, dict[str, str]]],
    *,
    readers: Mapping[str, CellReader],
    required: tuple[str, ...] = (),
) -> list[Row]:
    """The same of rows as text, with their lines."""
    result = []
    for line, raw in rows:
        row, faults = read_cells(raw, readers, required=required)
        for column in faults:
            raise bad_cell(path, line, column=column, cell=raw.get(column))
        result.append(row)
    return result


def read_cells(
    raw: Mapping[str, str], readers: Mapping[str, CellReader], *, required: tuple[str, ...] = ()
) -> tuple[Row, list[str]]:
    """One row's cells -> values, and the columns that could not be read."""
    row: Row = dict.fromkeys(readers)
    faults: list[str] = []
    for column, cell in raw.items():
        written = cell and cell.strip()
        reader = readers.get(column) if written else None
        if reader is not None:
            try:
                row[column] = written if reader is text else reader(written)
            except (ValueError, KeyError, OverflowError, RigError):
                faults.append(column)
    faults += [column for column in required if row.get(column) is None and column not in faults]
    return row, sorted(faults, key=list(readers).index) if len(faults) > 1 else faults


def bad_cell(path: Path, line: int, *, column: str, cell: object) -> DataError:
    """The error for one cell."""
    return DataError(
        say(
            '{file}, line {line}, column {column}: cannot read "{cell}"',
            file=path.name,
            line=line,
            column=column,
            cell=cell or "",
        )
    )


def raw_rows(path: Path, *, required: tuple[str, ...] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row's line number and its cells as text; a missing column is an error."""
    try:
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise too_large(path, MAX_TABLE_BYTES)
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from open_rows(file, path.name, required=required)
    except OSError as error:
        raise unread(path, error) from None


def open_rows(
    file: Iterable[str], name: str, *, required: tuple[str, ...] = (), most_rows: int = MOST_ROWS
) -> Iterator[tuple[int, dict[str, str]]]:
    """The same of lines that are open already."""
    try:
        table = bounded_csv(file, most_rows=most_rows)
        _, columns = next(table, (0, []))
        missing = [column for column in required if column not in columns]
        if missing:
            raise DataError(say("{file} lacks the column {column}", file=name, column=", ".join(missing)))
        blank = dict.fromkeys(columns, "")
        for line, cells in table:
            if cells:
                yield line, blank | dict(zip(columns, cells, strict=False))
    except ValueError as error:
        raise DataError(say("{file} is not a CSV table: {why}", file=name, why=error)) from None


def head_of(lines: Iterable[str], name: str) -> list[str]:
    """The names of a table's columns."""
    try:
        _, columns = next(bounded_csv(lines), (0, []))
    except ValueError as error:
        raise DataError(say("{file} is not a CSV table: {why}", file=name, why=error)) from None
    return columns


def read_toml(path: Path) -> dict[str, Any]:
    """Read one of our own TOML tables."""
    return _toml(path, lambda raw: toml_table(path, raw))


def foreign_toml(path: Path) -> dict[str, Any]:
    """Read what others wrote or changed."""
    return _toml(path, lambda raw: bounded_toml(raw.decode("utf-8")))


def _toml(path: Path, loads: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
    try:
        return loads(read_bounded(path, MAX_TOML_BYTES))
    except (ValueError, RecursionError) as error:
        why = str(error)[:MOST_WHY_CHARS]
        raise DataError(say("{file} is not a TOML table: {why}", file=path, why=why)) from None


def frozen(row: Mapping[str, Any]) -> Row:
    """A block of such a table as a record holds it: its lists, and those inside them, are tuples."""

    def fixed(value: Any) -> Any:
        return tuple(map(fixed, value)) if isinstance(value, list) else value

    return {name: fixed(value) for name, value in row.items()}
