"""Traces: a CSV of requests with moments and lengths; a row that cannot be read is named, the rest kept."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigright.base.errors import DataError
from rigright.base.tables import bad_cell, number, open_rows, read_cells, text
from rigright.base.words import Sentence, say
from rigright.sim.load import Load

MOST_TOK = 2**31
MOST_S = 1e10
MOST_REQUESTS = 2_000_000
MOST_LISTED = 5
MEASURED = {"first_token_s", "last_token_s"}
NEEDED = ("arrival_s", "prompt_tok", "output_tok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The requests that can be read, by arrival, and every name in the order of the file."""

    load: Load
    names: tuple[str | None, ...]  # of all rows; those without one go by their number
    places: np.ndarray  # of each request of the load, its row among all
    first_s: np.ndarray  # as measured; nan where the file does not tell
    last_s: np.ndarray
    notes: tuple[Sentence, ...] = ()


def _tokens(cell: str) -> int:
    value = number(cell)
    if value != int(value) or not 1 <= value <= MOST_TOK:
        raise ValueError(cell)
    return int(value)


def _moment(cell: str) -> float:
    value = number(cell)
    if not 0 <= value <= MOST_S:
        raise ValueError(cell)
    return value


_READERS = {
    "request": text,
    "arrival_s": _moment,
    "prompt_tok": _tokens,
    "output_tok": _tokens,
    "cached_tok": lambda cell: 0 if number(cell) == 0 else _tokens(cell),
    "first_token_s": _moment,
    "last_token_s": _moment,
}


def read_trace(lines: Iterable[str], name: str) -> Trace:
    """Read the lines of a trace; `name` is what complaints call it."""
    names: list[str | None] = []
    columns = {column: array("d") for column in _READERS if column != "request"}  # a row is kept as numbers
    places = array("q")
    faults: list[Sentence] = []
    for line, raw in open_rows(lines, name, required=NEEDED, most_rows=MOST_REQUESTS + 1):
        row, bad = read_cells(raw, _READERS, required=NEEDED)
        names.append(row["request"])
        if len(names) > MOST_REQUESTS:
            raise DataError(say("{file} has more than {most} requests", file=name, most=f"{MOST_REQUESTS:,}"))
        needed = [column for column in bad if column not in MEASURED]
        if needed:
            if len(faults) <= MOST_LISTED:
                faults.append(bad_cell(Path(name), line, column=needed[0], cell=raw.get(needed[0])).sentence)
            continue
        places.append(len(names) - 1)
        for column, values in columns.items():
            value = row[column]
            values.append(np.nan if value is None else value)
    if not places:
        raise DataError(faults[0] if faults else say("{file} contains no requests", file=name))
    # the first faults, and how many more there are
    more = len(names) - len(places) - MOST_LISTED
    sentences = tuple(faults[:MOST_LISTED])
    if more > 0:
        sentences += (say("{count} more unreadable rows", count=more),)
    order = np.argsort(np.asarray(columns["arrival_s"]), kind="stable")
    whole = {column: np.asarray(columns.pop(column))[order] for column in list(columns)}
    prompt = whole["prompt_tok"].astype(int)
    cached = np.nan_to_num(whole["cached_tok"]).astype(int)
    return Trace(
        load=Load(
            arrival_s=whole["arrival_s"],
            prompt_tok=prompt,
            output_tok=whole["output_tok"].astype(int),
            cached_tok=np.minimum(cached, prompt - 1),
        ),
        names=tuple(names),
        places=np.array(places)[order],
        first_s=whole["first_token_s"],
        last_s=whole["last_token_s"],
        notes=sentences,
    )
