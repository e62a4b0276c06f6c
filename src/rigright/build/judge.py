"""Every rule over a machine, and what it says: fine, a doubt to look into, or impossible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Literal

from rigright.base import shelf
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
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

    @property
    def sentence(self) -> Sentence:
        """What is wrong, and what mends it."""
        return self.reason if self.do is None else say("{wrong}; {do}", wrong=self.reason, do=self.do)


def fine(parts: str, reason: Sentence) -> Ruling:
    """What holds; kinds of part by their names."""
    return Ruling(verdict=OK, parts=tuple(parts.split()), reason=reason)


def doubt(parts: str, reason: Sentence, *, do: Sentence | None = None) -> Ruling:
    """What somebody should look into."""
    return Ruling(verdict=DOUBT, parts=tuple(parts.split()), reason=reason, do=do)


def impossible(parts: str, reason: Sentence, *, do: Sentence | None = None) -> Ruling:
    """What cannot be built."""
    return Ruling(verdict=IMPOSSIBLE, parts=tuple(parts.split()), reason=reason, do=do)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRule:
    """One rule: a function that yields what it finds, nothing where nothing is known."""

    name: str
    judge: Callable[[Rig], Iterator[Ruling]]


def worst(rulings: Iterable[Ruling]) -> str:
    """The verdict on the whole."""
    return max((ruling.verdict for ruling in rulings), key=ORDER.index, default=OK)


NOUNS = {
    "cpu": say("CPU"),
    "board": say("board"),
    "ram": say("memory"),
    "gpu": say("GPU"),
    "psu": say("power supply"),
    "case": say("case"),
    "ssd": say("drive"),
    "cooler": say("cooler"),
    "room": say("room"),
    "machine": say("machine"),
    "nic": say("network"),
}


@cache
def rules() -> tuple[BuildRule, ...]:
    """All of them, file by file."""
    return tuple(rule for value in shelf.load("rigright.build.rules", "RULES").values() for rule in value)


@cache
def _rules_by_name() -> dict[str, BuildRule]:
    """The same by name."""
    return {rule.name: rule for rule in rules()}


def judge(rig: Rig, names: Iterable[str] | None = None) -> tuple[Ruling, ...]:
    """What rules find, the worst first; `names`: only these rules."""
    asked = rules() if names is None else [_rules_by_name()[name] for name in names]
    rulings = [replace(ruling, rule=rule.name) for rule in asked for ruling in rule.judge(rig)]
    for kind, text in rig.unknown if names is None else ():
        rulings.append(Ruling(
            verdict=DOUBT, parts=(kind,), rule="unknown",
            reason=say('unknown {what} "{text}": not checked', what=NOUNS[kind], text=text[:60]),
            do=say("give vendor and model, or its key specs"),
        ))  # fmt: skip
    for kind, text in rig.repeated if names is None else ():
        says = say(
            'a second {what} is listed, "{text}": only the first is checked', what=NOUNS[kind], text=text[:60]
        )
        do = say("remove one of them")
        rulings.append(Ruling(verdict=DOUBT, parts=(kind,), rule="repeated", reason=says, do=do))
    return tuple(sorted(rulings, key=lambda ruling: -ORDER.index(ruling.verdict)))
