"""Licences of weights: rows of patterns over model names, the first that fits wins."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

from rigright.base.tables import DATA, read_rows, text


def licence_of(name: str) -> str | None:
    """The licence the publisher put on a model's weights, where a row knows it."""
    return next((licence for pattern, licence in _rows() if fnmatchcase(name, pattern)), None)


@cache
def _rows() -> tuple[tuple[str, str], ...]:
    columns = ("names", "licence", "source")
    rows = read_rows(DATA / "licences.csv", dict.fromkeys(columns, text), required=columns)
    return tuple((row["names"], row["licence"]) for row in rows)
