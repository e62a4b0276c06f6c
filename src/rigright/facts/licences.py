"""Licences of weights: rows of patterns over model names, the first that fits wins."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache

from rigright.base.loader import rows


def licence_of(name: str) -> str | None:
    """The licence the publisher put on a model's weights, where a row knows it."""
    likely = (row for row in _rows() if name.startswith(row[0]))  # sooner than compiling every pattern
    text = next((licence for _, pattern, licence in likely if fnmatchcase(name, pattern)), None)
    return text or _published().get(name.partition("#")[0])


@cache
def _published() -> dict[str, str]:
    """What the table of published models says of single ones."""
    return {name: licence for name, licence in rows("model_identity.csv", "name", "licence") if licence}


@cache
def _rows() -> tuple[tuple[str, str, str], ...]:
    """How a name begins, its pattern, its licence."""
    return tuple(
        (re.split(r"[*?[]", names)[0], names, licence)
        for names, licence in rows("licences.csv", "names", "licence")
    )
