"""Faults that drivers tell of: XID codes, why cards slow down, and from how many on errors are many.

Doctor, fleet and alerts go by the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
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
        wears = action == "restart_app" if self.next == "rows" else action == "none"
        wears = wears and self.hardware == "y"
        return "warning" if wears or action in _TICKETS or times >= repeated().times else "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """From so many on one card within so long an error of programs is looked at as one of the card."""

    times: int
    within_h: int


@cache
def repeated() -> Repeated:
    """The row of data/judged.toml that doctor and alerts go by."""
    row = _judged()["repeated_xids"]
    return Repeated(times=row["times"], within_h=row["within_h"])


@cache
def xids() -> dict[int, Xid]:
    """Every code of the table."""
    return {xid.code: xid for xid in records("xids.csv", Xid)}


def codes_of(severity: str) -> str:
    """The codes that one line of is so bad, as a pattern for labels: "46|48|62"."""
    return "|".join(str(code) for code, xid in sorted(xids().items()) if xid.severity() == severity)


def repeated_codes() -> str:
    """The codes that are worth a note once, and a warning where they repeat."""
    many = repeated().times
    worse = (code for code, xid in sorted(xids().items()) if xid.severity() != xid.severity(times=many))
    return "|".join(map(str, worse))


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """One reason."""

    bit: int  # of the driver's mask
    word: str  # "hw_thermal"
    xml: str | None  # its name in nvidia-smi -q -x, without what stands before it
    judged: str  # while it works: "none", "note", "warning", "fault"
    binds: str | None  # what a card so held waits for: a table of data/binding.toml
    short: Sentence  # in a column of a live view
    meaning: Sentence
    source: str
    as_of: str
    confidence: str


@cache
def slowdowns() -> dict[str, Slowdown]:
    """Every reason under its word."""
    read = records("slowdowns.csv", Slowdown, read={"bit": lambda cell: int(cell, 16)})
    return {slowdown.word: slowdown for slowdown in read}


@cache
def words_of(binds: str, *, brakes: bool = False) -> frozenset[str]:
    """The reasons that come to one thing that binds; `brakes`: those that no healthy card has."""
    return frozenset(
        slowdown.word
        for slowdown in slowdowns().values()
        if slowdown.binds == binds and (not brakes or slowdown.judged in {"warning", "fault"})
    )


def reasons(words: Iterable[str]) -> tuple[str, ...]:
    """Why a card is held back: the board's slowdown is left out where its own bit says which it is."""
    texts = tuple(words)
    own = {"hw_thermal", "hw_power_brake"}.isdisjoint(texts)
    return texts if own else tuple(word for word in texts if word != "hw_slowdown")


@cache
def nvlink_errors() -> Mapping[str, int]:
    """Kind of error -> from how many on a link that counted so many is worth a look."""
    value = _judged()["nvlink_errors"]
    return dict.fromkeys(value["any"], 1) | dict.fromkeys(value["many"], int(value["times"]))


@cache
def pcie_replays() -> Mapping[int, float]:
    """Generation -> packets sent again, a minute and lane, that a sound link stays below."""
    value = _judged()["pcie_replays"]["a_minute_and_lane"]
    return {int(gen): float(most) for gen, most in value.items()}


@cache
def corrected_errors() -> int:
    """Corrected memory errors of a card since its reset, from which on it wears out."""
    return int(_judged()["corrected_errors"]["times"])


def _judged() -> dict[str, Any]:
    return read_toml(DATA / "judged.toml")
