"""JSON that others wrote, within bounds; what is no finite number in it is unknown."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any

MOST_DEPTH = 100
MOST_CONTAINERS = 500_000  # each takes some hundred bytes, however short it is written
MOST_DIGITS = 300  # a float holds no more

_Pairs = Callable[[list[tuple[str, Any]]], dict[str, Any]]


def bounded_json(raw: str | bytes, *, pairs: _Pairs | None = None, unknown: str | None = None) -> Any:
    """All of it, or a ValueError that says why not.

    `pairs` makes its objects; `unknown` stands for what is no finite number, where that is to be told.
    """
    text = raw if isinstance(raw, str) else raw.decode(json.detect_encoding(raw))
    if text.count("[") + text.count("{") > MOST_CONTAINERS:
        msg = f"more than {MOST_CONTAINERS:,} lists and objects"
        raise ValueError(msg)
    try:
        found = _decoder(pairs, unknown).decode(text.removeprefix("\ufeff"))
    except RecursionError:
        raise TooDeepError from None
    return _shallow(found)


def bounded_json_at(text: str, start: int) -> tuple[Any, int]:
    """The value that begins in a place, and where it ends; a ValueError where none does."""
    try:
        found, end = _decoder(None, None).raw_decode(text, start)
    except RecursionError:
        raise TooDeepError from None
    return _shallow(found), end


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


def _shallow(found: Any) -> Any:
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            inside
            for one in level
            for inside in (one.values() if isinstance(one, dict) else one)
            if isinstance(inside, dict | list)
        ]
        if not level:
            return found
    raise TooDeepError
