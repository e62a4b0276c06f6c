"""Checks of the doctor: what each looks at, why it matters, and the thresholds with their sources."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.page import Line, Part
from rigright.base.words import say
from rigright.doctor.advice import manual_of
from rigright.doctor.examine import checks, chosen, group_of
from rigright.doctor.record import Check
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery


def _find(asked: LookUpQuery) -> tuple[Check, ...]:
    """Checks by name, beginning, group or pattern; else by words of their manuals."""
    if not asked.words:
        return tuple(checks().values())
    try:
        names = chosen(asked.words)
    except AskError:
        words = [word.lower() for word in asked.words]
        result = tuple(check for check in checks().values() if _speaks_of(check, words))
        if not result:
            raise
        return result
    return tuple(checks()[name] for name in names)


def _speaks_of(entry: Check, words: list[str]) -> bool:
    text = f"{entry.name} {entry.manual}".lower()
    return all(word in text for word in words)


def _manual(entry: Check) -> tuple[Part, ...]:
    """The manual, a paragraph a line."""
    return tuple(Line(text=paragraph) for paragraph in manual_of(entry))


def group(entry: Check) -> str:
    """The group of checks it belongs to."""
    return group_of(entry.name)


KIND = ListingKind(
    record=Check,
    summary=say("checks of `doctor`: what each looks at, why, thresholds"),
    title=say("Checks of doctor"),
    fields=(
        field("name", say("check"), listed=True),
        field("group", say("group"), law=group, listed=True),
        field("title", say("looks at"), listed=True, flexible=True),
        field("manual", say("manual"), show=lambda _: ""),
    ),
    find=_find,
    parts=_manual,
)
