"""Terms as they were fitted on runs, a table a subject; a refit hands in its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.facts.corrections import corrections


def fitted(subject: str, tables: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The terms of a subject; `tables`: others than ours."""
    return corrections(subject) if tables is None else tables
