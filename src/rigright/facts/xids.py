"""NVIDIA's XID codes: what each means, what to do at once, and what after that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, CellReader, read_rows, text, whole
from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Xid:
    """One code. Codes that are not listed are unused or unknown."""

    code: int
    meaning: Sentence
    action: (
        str  # at once: "none", "look", "restart_app", "reset", "reboot", "recovery", "links", "cables", ...
    )
    next: str  # then: "none", "app", "support", "rows", "replace", "update", "power", "cables", "links"
    hardware: str  # "y", "n", "either"
    source: str
    as_of: str
    confidence: str


@cache
def xids() -> dict[int, Xid]:
    """Every code of the table."""
    names = ("action", "next", "hardware", "source", "as_of", "confidence")
    readers: dict[str, CellReader] = {"code": whole, "meaning": Sentence, **dict.fromkeys(names, text)}
    rows = read_rows(DATA / "xids.csv", readers, required=tuple(readers))
    return {row["code"]: Xid(**row) for row in rows}
