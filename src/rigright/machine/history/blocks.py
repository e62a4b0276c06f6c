"""Many rows as one small block: column by column, each as differences, the whole compressed."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.history.columns import Row

Column = list[int | None] | list[str | None]
_MOST_BYTES = 64 * MIB  # of one block unpacked
_CODES = (("b", 7), ("h", 15), ("i", 31), ("q", 63))
_HEAD = 4  # bytes that tell how long the head is


def packed(rows: Sequence[Row]) -> bytes:
    """Rows as a block."""
    names = dict.fromkeys(name for row in rows for name in row)
    heads, bodies = [], []
    for name in names:
        head, body = _packed_column([row.get(name) for row in rows])
        heads.append([name, *head])
        bodies.append(body)
    data = json.dumps({"rows": len(rows), "columns": heads}, separators=(",", ":")).encode()
    return zlib.compress(len(data).to_bytes(_HEAD, "little") + data + b"".join(bodies), 6)


def unpacked(block: bytes) -> list[Row]:
    """The rows of a block."""
    columns = columns_of(block)
    count = len(next(iter(columns.values()), []))
    return [
        {name: value for name, column in columns.items() if (value := column[place]) is not None}
        for place in range(count)
    ]


def columns_of(block: bytes, wanted: Callable[[str], bool] | None = None) -> dict[str, Column]:
    """The columns of a block, or those that are wanted; None where a row had nothing."""
    try:
        return _columns(block, wanted)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, zlib.error, EOFError) as error:
        raise DataError(say("a block of the history is damaged: {why}", why=error)) from None


def _columns(block: bytes, wanted: Callable[[str], bool] | None) -> dict[str, Column]:
    raw = zlib.decompressobj().decompress(block, _MOST_BYTES)
    start = _HEAD + int.from_bytes(raw[:_HEAD], "little")
    value = bounded_json(raw[_HEAD:start])
    groups = {}
    for name, code, base, gaps, words in value["columns"]:
        holes = sum(length for _, length in gaps)
        count = max(value["rows"] - holes - 1, 0)
        until = start + count * array(code).itemsize
        if wanted is None or wanted(name):
            if until > len(raw):
                raise EOFError(name)
            numbers = list(accumulate(_numbers(code, raw[start:until]), initial=base))
            column: list[Any] = [words[number] for number in numbers] if words is not None else list(numbers)
            for place, length in gaps:
                column[place:place] = [None] * length
            groups[name] = column
        start = until
    return groups


def _packed_column(values: Sequence[Any]) -> tuple[list[Any], bytes]:
    """What the head tells of a column, and its differences."""
    words: list[str] | None = None
    there = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in there):
        words = list(dict.fromkeys(map(str, there)))
        places = {word: place for place, word in enumerate(words)}
        there = [places[str(value)] for value in there]
    steps = [after - before for before, after in pairwise(there)]
    most = max((abs(step).bit_length() for step in steps), default=0)
    code = next(code for code, bits in _CODES if most <= bits)
    body = array(code, steps)
    if sys.byteorder == "big":
        body.byteswap()
    # where nothing stands: [place, length] of each stretch
    numbers: list[list[int]] = []
    for place, value in enumerate(values):
        if value is not None:
            continue
        if numbers and sum(numbers[-1]) == place:
            numbers[-1][1] += 1
        else:
            numbers.append([place, 1])
    return [code, there[0], numbers, words], body.tobytes()


def _numbers(code: str, raw: bytes) -> array[int]:
    result = array(code)
    result.frombytes(raw)
    if sys.byteorder == "big":
        result.byteswap()
    return result
