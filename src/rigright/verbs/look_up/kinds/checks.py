"""Checks of the doctor: what each looks at, why it matters, and the thresholds with their sources."""

from __future__ import annotations

import inspect
import re
from itertools import zip_longest

from rigright.base.errors import AskError
from rigright.base.page import Line, Part
from rigright.base.tables import DATA, read_toml
from rigright.base.words import CHINESE, Bilingual, say, tell
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
        found = tuple(one for one in checks().values() if _speaks_of(one, words))
        if not found:
            raise
        return found
    return tuple(checks()[name] for name in names)


def _speaks_of(entry: Check, words: list[str]) -> bool:
    told = f"{entry.name} {entry.manual}".lower()
    return all(word in told for word in words)


def _manual(entry: Check) -> tuple[Part, ...]:
    """The manual, a paragraph a line: the docstring, and in Chinese its own text or what the check finds."""
    english = [" ".join(paragraph.split()) for paragraph in entry.manual.split("\n\n")]
    chinese = read_toml(DATA / "manuals.toml").get(entry.name) or list(findings(entry)) or english
    return tuple(
        Line(said=say("{text}", text=Bilingual(first, second)))
        for first, second in zip_longest(english, chinese, fillvalue="")
    )


def findings(entry: Check) -> tuple[str, ...]:
    """The findings of a check from the tables of advice, in Chinese."""
    named = re.findall(r'"([a-z_0-9]+)\.([a-z_0-9]+)"', inspect.getsource(entry.look))
    told = []
    for subject, finding in named:
        path = DATA / "advice" / f"{subject}.toml"
        table = read_toml(path) if path.exists() else {}
        row = table.get(table.get(finding, {}).get("like"), {}) | table.get(finding, {})
        if {"severity", "title", "why"} <= set(row):
            severity = tell(say(row["severity"]), CHINESE)
            told.append(f"{severity}：{row['title'][1]}。{row['why'][1]}。")
    return tuple(re.sub(r"\{[^{}]*\}", "…", text) for text in dict.fromkeys(told))


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
