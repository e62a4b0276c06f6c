"""Why a card runs slower than it could: the driver's reasons, and how each is judged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, CellReader, read_rows, text
from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """One reason."""

    bit: int  # of the driver's mask
    word: str  # "hw_thermal"
    xml: str | None  # its name in nvidia-smi -q -x, without what stands before it
    judged: str  # while it works: "none", "note", "warning", "fault"
    meaning: Sentence
    source: str
    as_of: str
    confidence: str


@cache
def slowdowns() -> dict[str, Slowdown]:
    """Every reason under its word."""
    names = ("word", "xml", "judged", "source", "as_of", "confidence")
    readers: dict[str, CellReader] = {
        "bit": lambda cell: int(cell, 16),
        "meaning": Sentence,
        **dict.fromkeys(names, text),
    }
    required = tuple(name for name in readers if name != "xml")
    rows = read_rows(DATA / "slowdowns.csv", readers, required=required)
    return {row["word"]: Slowdown(**row) for row in rows}
