"""Tables of `data/` as records: how a cell is read follows from the name and the annotation of its field.

A field takes the column of its own name, or the one in another unit: `mem_bytes` that of `mem_gib`, `base_hz`
that of `base_ghz`. `Annotated[float, "mem_driver_mib"]` names another column. A cell may be empty where its
field may be None or has a default. A table that others wrote may lack such a column altogether.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rigright.base.errors import DataError, RigError
from rigright.base.record import columned, defaults
from rigright.base.tables import (
    DATA,
    CellReader,
    bad_cell,
    frozen,
    number,
    raw_rows,
    read_toml,
    scaled,
    text,
    whole,
    yes,
)
from rigright.base.units import GIB, GIGA, KILO, MEGA, MIB, TERA
from rigright.base.words import Sentence, say

R = TypeVar("R")
Readers = Mapping[str, CellReader]  # by the name of a field, or by what it is annotated with
Columns = dict[str, Sequence[Any]]  # field -> its value in each row
Derived = Callable[[Columns], Columns]
_UNITS = (  # how a column ends, how its field does, and the factor between them
    ("_gb_per_s", "_bytes_per_s", GIGA), ("_gbit_per_s", "_bytes_per_s", GIGA / 8),
    ("_mt_per_s", "_transfers_per_s", MEGA), ("_tflops", "_flops_per_s", TERA), ("_tops", "_ops_per_s", TERA),
    ("_gib", "_bytes", GIB), ("_mib", "_bytes", MIB), ("_tb", "_bytes", TERA), ("_ghz", "_hz", GIGA),
    ("_mm", "_m", 1 / KILO),
)  # fmt: skip
_READERS: Readers = {"str": text, "int": whole, "float": number, "bool": yes, "Sentence": Sentence}
_NAMED = re.compile(r"Annotated\[(?P<kind>.+), '(?P<column>\w+)'\]")
_MANY = re.compile(r"(?P<made>tuple|frozenset)\[(?P<inside>.+?)(?:, \.\.\.)?\]")
_WORD = re.compile(r"'([^']*)'")
_MADE: Mapping[str, Callable[[Iterable[Any]], Any]] = {"tuple": tuple, "frozenset": frozenset}
_WRONG = (ValueError, KeyError, OverflowError, RigError)


class _Field(NamedTuple):
    """Where a field of a record comes from, and how."""

    name: str
    column: str
    kind: str  # as it is annotated, without None
    factor: float
    empty: Any  # what an empty cell means
    needed: bool


def records(
    file: str | Path, kind: type[R], *, read: Readers | None = None, derive: Derived | None = None
) -> tuple[R, ...]:
    """Every row of a table, in its order: one of ours by its name, another by its path.

    `derive` works fields out from the others, column by column.
    """
    readers, columns = {**_READERS, **(read or {})}, _columns(file)
    fields = _fields(file, kind, heads=tuple(columns))
    count = len(next(iter(columns.values()), ()))
    try:
        result: Columns = {
            field.name: _values(columns[field.column], field, read=readers) for field in fields
        }
    except _WRONG:
        raise _fault(file, fields, read=readers) from None
    left = dict.fromkeys(kind.__annotations__) | dict(defaults(kind))
    for name, value in left.items():
        result.setdefault(name, (value,) * count)
    return columned(kind, result if derive is None else result | derive(result), count=count)


def blocks(
    file: str,
    kind: type[R],
    *,
    own: frozenset[str] = frozenset(),
    read: Mapping[str, Callable[[Any], object]] | None = None,
) -> dict[str, R]:
    """Every table of a TOML file by its name, which is the id of the record.

    `like` takes all of another table but what is each one's own. `read`: how a field is read, by its name.
    """
    table = read_toml(DATA / file)

    def block(name: str) -> dict[str, Any]:
        row: dict[str, Any] = table[name]
        like = block(row["like"]) if "like" in row else {}
        return {key: value for key, value in like.items() if key not in own} | row

    return {name: _record(kind, block(name), place=(file, name), read=read or {}) for name in table}


def _record(
    kind: Callable[..., R],
    row: dict[str, Any],
    *,
    place: tuple[str, str],
    read: Mapping[str, Callable[[Any], object]],
) -> R:
    """A block as a record."""
    file, name = place
    if "like" not in kind.__annotations__:
        row.pop("like", None)
    fields = frozen(row) | {key: reader(row[key]) for key, reader in read.items() if key in row}
    try:
        return kind(id=name, **fields)
    except TypeError as error:
        raise DataError(say("{file}, [{name}]: {why}", file=file, name=name, why=error)) from None


def rows(file: str, *columns: str) -> list[tuple[str, ...]]:
    """The texts of some columns of a table, row by row."""
    table = _columns(file)
    for column in columns:
        if column not in table:
            raise _lacking(file, column)
    return list(zip(*(table[name] for name in columns), strict=True))


def _columns(file: str | Path) -> Mapping[str, Sequence[str]]:
    """Head -> its cells."""
    if isinstance(file, str):
        try:
            with (DATA / file).open(encoding="utf-8", newline="") as opened:
                head, *lines = csv.reader(opened, strict=True)
            return dict(zip(head, zip(*lines, strict=True), strict=True))
        except (OSError, ValueError, csv.Error):
            pass  # what reads it line by line says what is wrong
    lined = list(raw_rows(DATA / file))
    return {name: [row[name].strip() for _, row in lined] for name in (lined[0][1] if lined else ())}


def _fields(file: str | Path, kind: type, *, heads: tuple[str, ...]) -> list[_Field]:
    """The fields of a record that a table has columns for."""
    units = {head: unit for head in heads for unit in _UNITS if f"_{head}".endswith(unit[0])}
    others = {(f"_{head}".removesuffix(end) + field)[1:]: head for head, (end, field, _) in units.items()}
    given, rows = defaults(kind), []
    for name, annotation in kind.__annotations__.items():
        named = _NAMED.fullmatch(annotation)
        column = named["column"] if named else name if name in heads else others.get(name, name)
        if column in heads:
            may_be_none = named["kind"] if named else annotation
            plain = may_be_none.removesuffix(" | None")
            rows.append(
                _Field(
                    name=name,
                    column=column,
                    kind=plain,
                    factor=units[column][2] if column in units and column != name else 1.0,
                    empty=given.get(name),
                    needed=name not in given and plain == may_be_none,
                )
            )
        elif name not in given and (isinstance(file, str) or not annotation.endswith("| None")):
            raise _lacking(file, column)
    return rows


def _values(cells: Sequence[str], field: _Field, *, read: Readers) -> Sequence[Any]:
    """What the cells of one column mean."""
    empty = field.empty
    if field.needed and "" in cells:
        raise ValueError(field.column)
    reader = _reader(field, read)
    if reader is text:
        return cells if "" not in cells else [cell or empty for cell in cells]
    if reader is number:
        factor = field.factor
        values = [float(cell) * factor if cell else empty for cell in cells]
        if not math.isfinite(sum(filter(None, values))):
            raise ValueError(field.column)
        return values
    return [reader(cell) if cell else empty for cell in cells]


def _reader(field: _Field, read: Readers) -> CellReader:
    """How a cell of a column is read."""
    result = read.get(field.name) or read.get(field.kind)
    if result is not None:
        return result
    if field.kind.startswith("Literal["):
        words = _WORD.findall(field.kind)
        return dict(zip(words, words, strict=True)).__getitem__
    many = _MANY.fullmatch(field.kind)
    if many is None:
        raise TypeError(f"{field.name}: no reader for {field.kind}")
    item, made = read[many["inside"]], _MADE[many["made"]]
    if item is text:
        return lambda cell: made(cell.split())
    if item is number:
        item = scaled(field.factor)
    return lambda cell: made(map(item, cell.split()))


def _fault(file: str | Path, fields: Iterable[_Field], *, read: Readers) -> DataError:
    """The first cell that cannot be read."""
    for line, row in raw_rows(DATA / file):
        for field in fields:
            cell = row[field.column].strip()
            try:
                _values((cell,), field, read=read)
            except _WRONG:
                return bad_cell(DATA / file, line, column=field.column, cell=cell)
    raise AssertionError(file)  # pragma: no cover - some cell is wrong, or nobody asks


def _lacking(file: str | Path, column: str) -> DataError:
    return DataError(say("{file} lacks the column {column}", file=(DATA / file).name, column=column))
