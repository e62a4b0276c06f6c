"""Licences of weights: rows of patterns over model names, the first that fits wins."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache

from rigright.base.tables import DATA, read_rows, text


def licence_of(name: str) -> str | None:
    """The licence the publisher put on a model's weights, where a row knows it."""
    rows = (row for row in _rows() if name.startswith(row[0]))  # sooner than compiling every pattern
    told = next((licence for _, pattern, licence in rows if fnmatchcase(name, pattern)), None)
    return told or _published().get(name.partition("#")[0])


@cache
def _published() -> dict[str, str]:
    """What the table of published models says of single ones."""
    rows = read_rows(DATA / "model_identity.csv", {"name": text, "licence": text}, required=("name",))
    return {row["name"]: row["licence"] for row in rows if row["licence"]}


@cache
def _rows() -> tuple[tuple[str, str, str], ...]:
    """How a name begins, its pattern, its licence."""
    columns = ("names", "licence", "source")
    rows = read_rows(DATA / "licences.csv", dict.fromkeys(columns, text), required=columns)
    return tuple((re.split(r"[*?[]", row["names"])[0], row["names"], row["licence"]) for row in rows)
