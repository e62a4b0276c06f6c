"""Every rule over a machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from rigright.base import shelf
from rigright.base.words import say
from rigright.build.machine import Rig
from rigright.build.ruling import DOUBT, ORDER, BuildRule, Ruling

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
def rules_by_name() -> dict[str, BuildRule]:
    """The same by name."""
    return {rule.name: rule for rule in rules()}


def judge(rig: Rig, names: Iterable[str] | None = None) -> tuple[Ruling, ...]:
    """What rules find, the worst first; `names`: only these rules."""
    asked = rules() if names is None else [rules_by_name()[name] for name in names]
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
