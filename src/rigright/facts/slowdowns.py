"""Why a card runs slower than it could: the driver's reasons, and how each is judged."""

from __future__ import annotations

from collections.abc import Iterable
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
    binds: str | None  # what a card so held waits for: a table of data/binding.toml
    meaning: Sentence
    source: str
    as_of: str
    confidence: str


@cache
def slowdowns() -> dict[str, Slowdown]:
    """Every reason under its word."""
    names = ("word", "xml", "judged", "binds", "source", "as_of", "confidence")
    readers: dict[str, CellReader] = {
        "bit": lambda cell: int(cell, 16),
        "meaning": Sentence,
        **dict.fromkeys(names, text),
    }
    required = tuple(name for name in readers if name not in {"xml", "binds"})
    rows = read_rows(DATA / "slowdowns.csv", readers, required=required)
    return {row["word"]: Slowdown(**row) for row in rows}


@cache
def words_of(binds: str, *, brakes: bool = False) -> frozenset[str]:
    """The reasons that come to one thing that binds; `brakes`: those that no healthy card has."""
    return frozenset(
        one.word
        for one in slowdowns().values()
        if one.binds == binds and (not brakes or one.judged in {"warning", "fault"})
    )


def reasons(words: Iterable[str]) -> tuple[str, ...]:
    """Why a card is held back: the board's slowdown is left out where its own bit says which it is."""
    told = tuple(words)
    own = {"hw_thermal", "hw_power_brake"}.isdisjoint(told)
    return told if own else tuple(word for word in told if word != "hw_slowdown")
