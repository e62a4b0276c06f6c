"""Names that a machine brings along stay names in the commands that a person is told to type.

A record may come from anywhere, and a folder may hold a space: a word of it must not become a second command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import pytest
from ledger import made
from test_checks_counted import LEDGER, lines

from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import CheckInput, Finding, NotSeen

EVIL = "$(id) '"
_QUOTED = re.compile(r"'[^']*'|\"'\"")
_SHORT = 3  # letters from which a word in a command is surely the one of the record


_HELD: dict[int, tuple[object, frozenset[str]]] = {}  # with the thing, so that its number stays its own


def words(thing: object) -> frozenset[str]:
    """Every text of a record, found once for each part of a machine."""
    if isinstance(thing, str):
        return frozenset((thing,))
    if not is_record(thing):
        return frozenset()
    if id(thing) not in _HELD:
        # what would show a thing is a command already
        names = (
            ()
            if isinstance(thing, tuple | list)
            else [one.name for one in fields(thing) if one.name != "see"]
        )
        inside = thing if isinstance(thing, tuple | list) else [getattr(thing, name) for name in names]
        _HELD[id(thing)] = thing, frozenset().union(*map(words, inside))
    return _HELD[id(thing)][1]


def values(thing: object) -> list[object]:
    """Of every field; but what would show a thing is a command already."""
    return [getattr(thing, one.name) for one in fields(thing) if one.name != "see"]


def is_record(thing: object) -> bool:
    return isinstance(thing, str | tuple | list) or (is_dataclass(thing) and not isinstance(thing, type))


def poisoned(thing: object, evil: set[str]) -> object:
    """The same record with more behind those texts."""
    if isinstance(thing, str):
        return thing + EVIL if thing in evil else thing
    if not is_record(thing) or evil.isdisjoint(words(thing)):
        return thing
    if isinstance(thing, tuple):
        return tuple(poisoned(one, evil) for one in thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        told = {one.name: poisoned(getattr(thing, one.name), evil) for one in fields(thing) if one.init}
        return replace(thing, **told)
    return thing


def commands(check: str, case: CheckInput) -> list[str]:
    """Every line that a check tells a person to type."""
    (checked,) = examine(case, (check,)).checks
    found = [line for one in checked.verdicts if isinstance(one, Finding) for line in lines(one)]
    return found + [one.see for one in checked.verdicts if isinstance(one, NotSeen) and one.see]


def is_open(line: str) -> bool:
    """Whether a shell would run what the record brought."""
    return "$(id)" in _QUOTED.sub("", line)


def changes() -> Iterator[tuple[str, object]]:
    """Each check with each machine that makes it speak."""
    for name, row in LEDGER.items():
        if not isinstance(row.finds, str):
            yield from ((name, change) for change, _, _ in row.finds)
        if not isinstance(row.unseen, str):
            yield name, row.unseen


def test_no_word_of_a_record_leaves_its_place_in_a_command():
    told, tried, reached = set(), set(), 0
    for name, change in changes():
        case = made(change)
        typed = " ".join(commands(name, case))
        for word in {one for one in words(case.machine) if len(one) >= _SHORT and one in typed}:
            if (name, word) in tried:
                continue
            tried.add((name, word))
            machine = poisoned(case.machine, {word})
            again = commands(name, case_of(machine, wanted=case.wanted, results=case.results))
            reached += any(EVIL in line or "id)" in line for line in again)
            told |= {(name, line) for line in again if is_open(line)}
    assert reached > 20, "nothing of a record reached a command: this test looks at nothing"
    assert sorted(told) == []


@pytest.mark.parametrize("line", ["df -h /a$(id) '", 'df -h "/a$(id)"', "cat /a$(id)"])
def test_an_open_word_is_seen(line):
    assert is_open(line)
    assert not is_open("df -h '/a$(id) '\"'\"''")
