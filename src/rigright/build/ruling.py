"""What a rule says of a machine: fine, a doubt to look into, or impossible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from rigright.base.record import dataclass
from rigright.base.words import Sentence
from rigright.build.machine import Rig

Verdict = Literal["ok", "doubt", "impossible"]
OK, DOUBT, IMPOSSIBLE = "ok", "doubt", "impossible"
ORDER = (OK, DOUBT, IMPOSSIBLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One thing a rule found."""

    verdict: str
    parts: tuple[str, ...]  # kinds it concerns: "cpu", "board", "ram", "gpu", "psu", "case" ...
    reason: Sentence
    do: Sentence | None = None  # what mends it
    rule: str = ""  # its name, as --json bears it


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRule:
    """One rule: a function that yields what it finds, nothing where nothing is known."""

    name: str
    judge: Callable[[Rig], Iterator[Ruling]]


def worst(rulings: Iterable[Ruling]) -> str:
    """The verdict on the whole."""
    return max((ruling.verdict for ruling in rulings), key=ORDER.index, default=OK)
