"""The one table of messages: what the kernel, drivers, frameworks, services and tools print of a fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rigright.base.loader import rows
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml

MOST_CHARS = 20_000  # of a text that is looked through
_MOST_LOOKED_AT = 500  # of a line of the kernel's: patterns cost more than its length
_SHORT = 200  # no pattern takes long for so few characters
_MOST_NAMED = 16  # marks in a longer line: more are no kernel's, and each costs patterns their time
KERNEL, TEXT, FIELD, GOOD = "kernel", "text", "field", "good"
SUBJECT = "subject"  # which model and which card the messages of a text are about
MESSAGE = "message"  # the kind of those whose finding the table names
UNKNOWN = "unknown"  # the kind of a line that looks like an error and fits no row
_OPEN = {"model": "MODEL", "on": "GPU"}  # for commands, where no text names them
_PLACES = {  # what a pattern of the table may name
    "<pci>": r"(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)",
    "<slot>": r"(?P<pci>(?:[0-9a-fA-F]{4}:)?(?:0x)?[0-9a-fA-F]{2}:(?:0x)?[0-9a-fA-F]{2}\.[0-7])",
    "<process>": r"[Pp]rocess (?P<pid>\d{1,18}) \((?P<program>[^)]*)\)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePattern:
    """One kind of message."""

    kind: str  # for checks of the kernel's log: "xid", "aer", ...; MESSAGE where `finding` says what it means
    finding: str = ""  # of advice/, as "messages.cuda_oom"; "" where a check decides
    marks: tuple[str, ...]  # of these one stands in a text, in lower case, where the pattern fits
    pattern: re.Pattern[str]
    example: str = ""
    under: re.Pattern[str] | None = None  # a heading above its lines, which says what they are of
    follows: bool = False  # it mostly comes of another fault


@cache
def message_patterns(scope: str) -> tuple[MessagePattern, ...]:
    """Those of the kernel's log (GOOD: that mend), of any text, of one that nothing else reads, or SUBJECT.

    They are in order: the first that fits is right.
    """
    if scope in {KERNEL, GOOD, SUBJECT}:
        return tuple(
            MessagePattern(kind=kind, marks=tuple(marks.split(" | ")), pattern=re.compile(_filled(pattern)))
            for scoped, kind, marks, pattern in rows("messages.csv", "scope", "kind", "marks", "pattern")
            if scoped == scope
        )
    return tuple(
        MessagePattern(
            kind=MESSAGE,
            finding=f"messages.{name}",
            marks=tuple(printed["marks"]),
            pattern=re.compile(_filled(printed["pattern"]), re.MULTILINE),
            example=printed.get("example", ""),
            under=re.compile(_filled(printed["under"]), re.MULTILINE) if "under" in printed else None,
            follows=block.get("follows", False),
        )
        for name, block in read_toml(DATA / "advice" / "messages.toml").items()
        for printed in block.get("prints", ())
        if printed.get("scope", TEXT) == scope
    )


def _filled(pattern: str) -> str:
    for name, place in _PLACES.items():
        pattern = pattern.replace(name, place)
    return pattern


def possible(text: str, *scopes: str) -> tuple[MessagePattern, ...]:
    """The rows that a text may hold one of: all but a few are ruled out by their marks."""
    plain = text.lower()
    return tuple(
        row for scope in scopes for row in message_patterns(scope) if any(mark in plain for mark in row.marks)
    )


def fit(line: str, patterns: tuple[MessagePattern, ...]) -> tuple[MessagePattern, re.Match[str]] | None:
    """The first row that a line fits, and how."""
    plain = line.lower()
    for row in patterns:
        if any(mark in plain for mark in row.marks) and (match := row.pattern.search(line)) is not None:
            return row, match
    return None


@cache
def kernel_marks() -> tuple[str, ...]:
    """Words of which one stands in every line that a row of the kernel's log fits."""
    patterns = (*message_patterns(KERNEL), *message_patterns(GOOD))
    return (*dict.fromkeys(mark for pattern in patterns for mark in pattern.marks),)


def kernel_fit(line: str, scope: str) -> tuple[MessagePattern, re.Match[str]] | None:
    """The first row of the kernel's log that a line fits, and how."""
    line = line[:_MOST_LOOKED_AT]
    if len(line) > _SHORT and sum(map(line.lower().count, kernel_marks())) > _MOST_NAMED:
        return None
    return fit(line, message_patterns(scope))


def values_of(row: MessagePattern, match: re.Match[str]) -> dict[str, str]:
    """What a message, and the heading that stands above it, name for the finding of its row."""
    above = row.under.search(match.string) if row.under is not None else None
    fields = {**_OPEN, **(above.groupdict() if above is not None else {}), **match.groupdict()}
    return {name: value for name, value in fields.items() if value is not None}


def messages_in(text: str, *scopes: str) -> Iterator[tuple[MessagePattern, re.Match[str]]]:
    """Each message that a short text repeats, line by line."""
    patterns = possible(text, *scopes)
    for line in text.splitlines() if patterns else ():
        pair = fit(line, patterns)
        if pair is not None:
            yield pair
