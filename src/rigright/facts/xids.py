"""NVIDIA's XID codes: what each means, what to do at once, and what after that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from rigright.base.tables import DATA, CellReader, read_rows, read_toml, text, whole
from rigright.base.words import Sentence

_PAGES = frozenset({"reset", "reboot", "drain", "cables", "links", "recovery"})
_TICKETS = frozenset({"support", "update"})


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

    def pages(self, action: str | None = None) -> bool:
        """Whether somebody must come: the card, or its node, is no good until something is done."""
        return (action or self.action) in _PAGES

    def severity(self, action: str | None = None, *, times: int = 1) -> Literal["note", "warning", "fault"]:
        """How bad it is, by what it asks for: the one law of doctor, fleet and alerts."""
        action = action or self.action
        if self.pages(action):
            return "fault"
        if action == "none" and self.hardware != "y":
            return "note"
        wears = action == "none" and self.next != "rows"
        return "warning" if wears or action in _TICKETS or times >= repeated().times else "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """From so many on one card within so long an error of programs is looked at as one of the card."""

    times: int
    within_h: int


@cache
def repeated() -> Repeated:
    """The row of data/judged.toml that doctor and alerts go by."""
    row = read_toml(DATA / "judged.toml")["repeated_xids"]
    return Repeated(times=row["times"], within_h=row["within_h"])


@cache
def xids() -> dict[int, Xid]:
    """Every code of the table."""
    names = ("action", "next", "hardware", "source", "as_of", "confidence")
    readers: dict[str, CellReader] = {"code": whole, "meaning": Sentence, **dict.fromkeys(names, text)}
    rows = read_rows(DATA / "xids.csv", readers, required=tuple(readers))
    return {row["code"]: Xid(**row) for row in rows}


def codes_of(severity: str) -> str:
    """The codes that one line of is so bad, as a pattern for labels: "46|48|62"."""
    return "|".join(str(code) for code, xid in sorted(xids().items()) if xid.severity() == severity)


def repeated_codes() -> str:
    """The codes that are worth a note once, and a warning where they repeat."""
    many = repeated().times
    worse = (code for code, xid in sorted(xids().items()) if xid.severity() != xid.severity(times=many))
    return "|".join(map(str, worse))
