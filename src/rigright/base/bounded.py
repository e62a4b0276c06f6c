"""JSON, CSV and TOML that others wrote, within bounds; what is no finite number in them is unknown."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any

from rigright.base.patterns import pattern

MOST_DEPTH = 100
MOST_CONTAINERS = 500_000  # each takes some hundred bytes, however short it is written
MOST_DIGITS = 300  # a float holds no more
MOST_COLUMNS, MOST_ROWS, MOST_ROW_CHARS = 1000, 200_000, 500_000  # of a table
SEPARATORS = ",;\t"  # of cells: a comma, or the semicolon or tab that some offices write
_KEYS = pattern(r"[^\n=,{}\[\]]+")  # between them a key of TOML stands, with its dots
_MANY_DIGITS = pattern(rf"[0-9_]{{{MOST_DIGITS + 1}}}")
_NO_SPACES = {ord(item): None for item in " \t"}

_Pairs = Callable[[list[tuple[str, Any]]], dict[str, Any]]


def bounded_json(raw: str | bytes, *, pairs: _Pairs | None = None, unknown: str | None = None) -> Any:
    """All of it, or a ValueError that says why not.

    `pairs` makes its objects; `unknown` stands for what is no finite number, where that is to be stated.
    """
    text = raw if isinstance(raw, str) else raw.decode(json.detect_encoding(raw))
    _few(text, 0)
    try:
        value = _decoder(pairs, unknown).decode(text.removeprefix("\ufeff"))
    except RecursionError:
        raise TooDeepError from None
    return _shallow(value)


def json_object(raw: str | bytes) -> dict[str, Any]:
    """The object that it is; empty where it is none, or is refused."""
    try:
        value = bounded_json(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def bounded_json_at(text: str, start: int) -> tuple[Any, int]:
    """The value that begins in a place, and where it ends; a ValueError where none does."""
    _few(text, start)
    try:
        value, end = _decoder(None, None).raw_decode(text, start)
    except RecursionError:
        raise TooDeepError from None
    return _shallow(value), end


def bounded_csv(lines: Iterable[str], *, most_rows: int = MOST_ROWS) -> Iterator[tuple[int, list[str]]]:
    """Each row's line and cells, the head among them; a ValueError says why it goes no further.

    The head of a table that was put behind another is no row.
    """
    since_row = 0
    columns: list[str] | None = None

    def within() -> Iterator[str]:
        nonlocal since_row
        for line in chain([head], unread):
            since_row += len(line)
            if since_row > MOST_ROW_CHARS:
                msg = f"a row of more than {MOST_ROW_CHARS:,} characters"
                raise ValueError(msg)
            yield line

    unread = iter(lines)
    head = next(unread, "")
    table = csv.reader(within(), delimiter=max(SEPARATORS, key=head.count), strict=True)
    try:
        for count, cells in enumerate(table):
            since_row = 0
            if count > most_rows:
                msg = f"more than {most_rows:,} rows"
                raise ValueError(msg)
            if len(cells) > MOST_COLUMNS:
                msg = f"more than {MOST_COLUMNS:,} columns"
                raise ValueError(msg)
            if cells == columns:
                continue
            columns = columns or cells
            yield table.line_num, cells
    except csv.Error as error:
        raise ValueError(str(error)) from None


def bounded_toml(toml: str) -> dict[str, Any]:
    """All of it, or a ValueError that says why not."""
    import tomllib  # Python 3.10 has none

    if any(key[0].count(".") > MOST_DEPTH for key in _KEYS.finditer(toml.translate(_NO_SPACES))):
        raise TooDeepError  # a key of many parts takes time by the square
    if _MANY_DIGITS.search(toml):
        msg = f"a number of more than {MOST_DIGITS} digits"
        raise ValueError(msg)
    try:
        fields = tomllib.loads(toml, parse_float=_finite)
    except RecursionError:
        raise TooDeepError from None
    return _shallow(fields)  # type: ignore[no-any-return]


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _few(text: str, start: int) -> None:
    if text.count("[", start) + text.count("{", start) > MOST_CONTAINERS:
        msg = f"more than {MOST_CONTAINERS:,} lists and objects"
        raise ValueError(msg)


class TooDeepError(ValueError):
    """Lists in lists, beyond what a record could be."""

    def __str__(self) -> str:
        return f"nested deeper than {MOST_DEPTH}"


@cache
def _decoder(pairs: _Pairs | None, unknown: str | None) -> json.JSONDecoder:
    def finite(text: str) -> float | str | None:
        value = float(text)
        return value if math.isfinite(value) else unknown

    def whole(text: str) -> int | str | None:
        return int(text) if len(text) <= MOST_DIGITS else unknown

    def constant(_: str) -> str | None:
        return unknown  # NaN and Infinity, which JSON does not have

    return json.JSONDecoder(
        object_pairs_hook=pairs, parse_float=finite, parse_int=whole, parse_constant=constant
    )


def _shallow(value: Any) -> Any:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            inside
            for row in level
            for inside in (row.values() if isinstance(row, dict) else row)
            if isinstance(inside, dict | list)
        ]
        if not level:
            return value
    raise TooDeepError
