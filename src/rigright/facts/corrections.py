"""Corrections: terms fitted on measured runs, apart from facts, a table a subject."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.base.tables import DATA, read_toml


@cache
def corrections(subject: str) -> Mapping[str, Any]:
    """The fitted terms of one subject, such as "memory_serving"; each table tells what it was fitted on."""
    return read_toml(DATA / "corrections" / f"{subject}.toml")
