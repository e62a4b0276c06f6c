"""Columns of tables of runs (data/run_columns.csv), and how their cells are read: what cannot be is not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache

from rigright.base.tables import DATA, CellReader, Row, number, read_rows, text, yes
from rigright.base.units import NO, YES

ALL_LAYERS = 90  # of llama.cpp's -ngl, from which all layers are meant
MOST_RANKS, MOST_TOK = 999_999, 999_999_999
MOST_GIB, MOST_RATE = 999_999, 999_999_999_999  # beyond any machine there is
SAME = {"serving_energy": "inference"}  # tables that have all columns of another
NO_LOAD = re.compile(r"max-throughput|/s|[rq]ps")  # loads that are no number at once: all that fits, a rate


def count(most: int) -> Callable[[str], int]:
    """A reader of whole numbers from one to `most`, "8" or "8.0"."""

    def read(cell: str) -> int:
        value = number(cell)
        if not 1 <= value <= most or value != int(value):
            raise ValueError(cell)
        return int(value)

    return read


def figure(most: float) -> CellReader:
    """A reader of measured figures: above zero, at most `most`."""

    def read(cell: str) -> float:
        value = number(cell)
        if not 0 < value <= most:
            raise ValueError(cell)
        return value

    return read


def ranks(cell: str) -> float:
    """How many ranks; 0 or a word that denies them: one; a word that it is so: endless, all there are."""
    text = cell.strip().lower()
    if text in NO:
        return 1
    return math.inf if text in YES and text != "1" else count(MOST_RANKS)(cell)


def side(cell: str) -> int:
    """Pixels of a side, "224"; of "936x624", the side of a square as large."""
    sides = [count(MOST_TOK)(part) for part in cell.lower().replace("\u00d7", "x").split("x")[:3]]
    return round(math.prod(map(float, map(str, sides))) ** (1 / len(sides)))


def _or(value: object, reader: CellReader) -> CellReader:
    """A reader of what may be nothing, written as 0."""
    return lambda cell: value if number(cell) == 0 else reader(cell)


def _peak(cell: str) -> str:
    """A kind of peak of memory."""
    from rigright.predict.trained_memory import KINDS

    return KINDS[KINDS.index(cell.lower())]


READERS: Mapping[str, CellReader] = {
    "text": text,
    "lower": str.lower,
    "yes": yes,
    "number": number,
    "count": count(MOST_TOK),
    "count or none": _or(None, count(MOST_TOK)),
    "ranks": count(MOST_RANKS),
    "ranks or none": _or(None, count(MOST_RANKS)),
    "attention ranks": ranks,
    "tokens": _or(0.0, figure(MOST_TOK)),
    "figure": figure(MOST_TOK),
    "rate": figure(MOST_RATE),
    "gib": figure(MOST_GIB),
    "share": figure(1),
    "load": lambda cell: None if NO_LOAD.search(cell) else figure(MOST_TOK)(cell),
    "peak": _peak,
    "side": side,
}


def _rows(table: str) -> list[Row]:
    names = ("column", "reader", "tables", "option")
    rows = read_rows(DATA / "run_columns.csv", dict.fromkeys(names, text))
    own = {table, SAME.get(table, table)}
    return [row for row in rows if own & {*row["tables"].split()}]


@cache
def columns_of(table: str) -> Mapping[str, CellReader]:
    """Every column that a kind of table knows, and how it is read."""
    return {row["column"]: READERS[row["reader"]] for row in _rows(table)}


@cache
def options_of(table: str) -> Mapping[str, str]:
    """Options of ours that say what a column holds -> that column."""
    return {option: row["column"] for row in _rows(table) for option in (row["option"] or "").split()}
