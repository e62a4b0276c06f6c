"""Laws of all checks: what is missing is never an alarm; order tells nothing; nothing breaks."""

from __future__ import annotations

import types
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from typing import Union, get_args, get_origin, get_type_hints

import pytest
from boxes import broken
from hypothesis import given
from hypothesis import strategies as st
from ledger import made, whole
from test_checks_counted import LEDGER

from rigright.doctor.examine import case_of, examine

MACHINES = ("server", "desktop", "spark", "amd", "office")
MOST_GONE = 40
KEPT = {  # what a record cannot be without, though it has a default
    ("Machine", "schema"), ("Machine", "origin"), ("Device", "state"), ("Program", "kind"),
    ("Machine", "devices"), ("Machine", "environment"), ("Machine", "unseen"),
    ("MemoryModule", "size_bytes"),  # None: an empty place
    ("PciDevice", "numa_node"),  # None: the firmware tells none, which is worth a note
}  # fmt: skip


@cache
def forgettable() -> tuple[tuple[str, str], ...]:
    """Every field of every record of a machine that may be unknown: (record, field)."""
    found, waiting = set(), [type(whole("server"))]
    seen = set(waiting)
    while waiting:
        kind = waiting.pop()
        hints = get_type_hints(kind)
        for one in fields(kind):
            if one.default is not MISSING or one.default_factory is not MISSING:
                found.add((kind.__name__, one.name))
            for inner in records_in(hints[one.name]) - seen:
                seen.add(inner)
                waiting.append(inner)
    return tuple(sorted(found - KEPT))


def records_in(hint) -> set[type]:
    """Records that a field may hold."""
    if is_dataclass(hint):
        return {hint}
    if get_origin(hint) in {tuple, Union, types.UnionType}:
        return set().union(*(records_in(one) for one in get_args(hint) if one is not Ellipsis))
    return set()


def forgotten(record, gone, draw_keep):
    """A record whose fields of these names were never read: in all such records, or in some."""
    changes = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if (type(record).__name__, one.name) in gone and not draw_keep():
            changes[one.name] = one.default if one.default is not MISSING else one.default_factory()
        elif is_dataclass(value):
            changes[one.name] = forgotten(value, gone, draw_keep)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            changes[one.name] = tuple(forgotten(each, gone, draw_keep) for each in value)
    return replace(record, **changes)


@st.composite
def forgetting(draw):
    """What is forgotten, and whether of all alike or only of some."""
    gone = draw(st.lists(st.sampled_from(forgettable()), max_size=MOST_GONE, unique=True))
    chance = draw(st.sampled_from([0.0, 0.0, 0.5, 0.9]))
    random = draw(st.randoms(use_true_random=False))
    return frozenset(gone), lambda: random.random() < chance


def said(machine, **more):
    """(check, severity, about) of all that is found; no check may break."""
    examined = examine(case_of(machine, **more))
    assert broken(examined.checks) == []
    return {
        (check, one.severity, one.about)
        for check, one in examined.findings
        if (one.severity, one.confidence) != ("note", "maybe")  # which says itself that it may be nothing
    }


@cache
def healthy(name):
    """All that is said of a healthy machine."""
    return said(whole(name))


@pytest.mark.parametrize("name", MACHINES)
def test_the_machines_of_the_ledger_are_healthy(name):
    notes = {(check, severity) for check, severity, _ in healthy(name)}
    assert {severity for _, severity in notes} <= {"note"}
    assert {check for check, _ in notes} <= {"pcie_slot", "driver_ended", "net_speed"}


def alarmed(name, gone):
    """What is wrongly said where these fields were never read."""
    machine = whole(name)
    poorer = forgotten(machine, gone, lambda: False)
    return set() if poorer == machine else said(poorer) - healthy(name)


@pytest.mark.parametrize("field", forgettable(), ids=".".join)
def test_one_thing_that_is_nowhere_told_is_no_alarm(field):
    assert alarmed("desktop", {field}) == set()


def test_one_thing_that_a_server_nowhere_tells_is_no_alarm():
    """Its fields are forgotten some at a time, of records far apart; one that alarms is then looked for."""
    every, turns = forgettable(), len(forgettable()) // 8
    for turn in range(turns):
        gone = set(every[turn::turns])
        if alarmed("server", gone):
            wrong = {field: found for field in gone if (found := alarmed("server", {field}))}
            assert wrong == {}


@pytest.mark.parametrize("name", MACHINES)
@given(forgets=forgetting())
def test_what_is_missing_is_never_an_alarm(name, forgets):
    machine = whole(name)
    assert said(forgotten(machine, *forgets)) - healthy(name) == set()


PLANTED = [
    (name, change)
    for name, row in LEDGER.items()
    if not isinstance(row.finds, str)
    for change, _, _ in row.finds
]


@given(planted=st.sampled_from(PLANTED), forgets=forgetting())
def test_a_fault_half_seen_breaks_no_check_and_accuses_no_other(planted, forgets):
    _, change = planted
    case = made(change)
    more = {"results": case.results, "wanted": case.wanted}
    usual = {check for check, _, _ in healthy(change.get("on", "server"))}
    full = usual | {check for check, _, _ in said(case.machine, **more)}
    half = {check for check, _, _ in said(forgotten(case.machine, *forgets), **more)}
    assert half - full == set()


@given(planted=st.sampled_from(PLANTED), random=st.randoms(use_true_random=False))
def test_the_order_in_which_things_are_listed_tells_nothing(planted, random):
    _, change = planted
    case = made(change)
    more = {"results": case.results, "wanted": case.wanted}
    shuffled = {
        name: tuple(random.sample(told, len(told)))
        for name in ("devices", "paths", "pci", "disks", "mounts", "ports", "sensors")
        if (told := getattr(case.machine, name))
    }
    assert said(replace(case.machine, **shuffled), **more) == said(case.machine, **more)
