"""The tables of advice: whole, in both languages, used, and filled with what the checks hand over."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache

import pytest

import housetree as house
from rigright.base.tables import DATA
from rigright.base.words import CHINESE, placeholders, tell
from rigright.doctor import xid as xid_module
from rigright.doctor.advice import SHARED, advise, advised_step, stated, subject_of
from rigright.facts.faults import xids
from rigright.machine.running.messages import FIELD, TEXT, message_patterns

FOLDER = DATA / "advice"
SUBJECTS = sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != SHARED)
WORDS = {"severity", "confidence", "title", "shows", "see", "seen", "why", "fix", "verify", "like"}
OF_LINES = {"follows", "prints", "driver", "nic", "log"}  # by what a message is known
OF_STEPS = {"en", "zh", "run", "root", "disturbs", "takes", "when", "unless", "step", "with"}
OF_EVIDENCE = {"shows", "see", "when", "unless"}
GIVEN = {"gpu"}  # by `device`


def row(subject, name):
    told = subject_of(subject)[name]
    return row(subject, told["like"]) | told if "like" in told else told


ROWS = [(subject, name) for subject in SUBJECTS for name in subject_of(subject)]


@cache
def asked():
    """Each finding that code asks for: (subject, finding) -> what each call hands over."""
    found = {}
    for module in house.modules().values():
        tree = module.tree if "advise" in module.source else ast.Module([])
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for function, node in ((one, call) for one in functions for call in calls_of(one)):
            of_steps = node.func.id == "advised_step"
            for name in names_in(node.args[0]) or chosen(function) or chosen(tree):
                key = (SHARED, name) if of_steps else tuple(name.split("."))
                values = {word.arg for word in node.keywords if word.arg}
                open_ended = len(node.args) > 1 or any(word.arg is None for word in node.keywords)
                found.setdefault(key, []).append((values, open_ended, f"{module.path}:{node.lineno}"))
    for scope in (TEXT, FIELD):
        for one in message_patterns(scope):
            key = tuple(one.finding.split("."))
            found.setdefault(key, []).append((wanted(row(*key)), True, one.example))
    for subject, kind in (("log_cards", "driver"), ("log_cards", "nic"), ("nvlink", "log")):
        for name in stated(subject, kind):
            found.setdefault((subject, name), []).append(
                ({"reset"} if kind == "driver" else set(), True, kind)
            )
    return found


def names_in(node):
    """A literal, either of two, or the steps that XIDs ask for; none where a variable holds it.

    An XID asks by its row of the catalog, or by what its line says (xid.py).
    """
    if isinstance(node, ast.JoinedStr) and node.values[0].value == "xid_":
        asks = {ask for xid in xids().values() for ask in (xid.action, f"then_{xid.next}")}
        told = ast.walk(ast.parse(inspect.getsource(xid_module)))
        asks |= {str(one.value) for one in told if isinstance(one, ast.Constant)}
        return [name for ask in asks if (name := f"xid_{ask}") in subject_of(SHARED)]
    if isinstance(node, ast.IfExp):
        return names_in(node.body) + names_in(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) else []


def calls_of(tree):
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"advise", "advised_step"}
    ]


def chosen(tree):
    """The names that variables of a function or module may hold: those that stand outside of the calls."""
    direct = {id(one) for call in calls_of(tree) for one in ast.walk(call.args[0])}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and id(node) not in direct
        and tuple(str(node.value).split(".")) in ROWS
    ]


def sentences_of(told):
    yield from (told[word] for word in ("title", "shows", "why") if word in told)
    yield from (one["shows"] for one in told.get("seen", ()) if isinstance(one, dict))
    for one in told.get("fix", ()):
        if isinstance(one, dict) and "en" in one:
            yield [one["en"], one["zh"]]


def commands_of(told):
    lines = [told.get("see"), told.get("verify")]
    lines += [one.get("see") for one in told.get("seen", ()) if isinstance(one, dict)]
    lines += [one.get("run", one.get("root")) for one in told.get("fix", ()) if isinstance(one, dict)]
    for line in lines:
        yield from line.values() if isinstance(line, dict) else [line] if line else []


def steps_named(told):
    for one in told.get("fix", ()):
        if isinstance(one, str) and not one.startswith("$"):
            yield one
        elif isinstance(one, dict) and "step" in one:
            yield one["step"]


def wanted(told):
    """The values without which a table cannot be filled."""
    names = set()
    for english, _ in sentences_of(told):
        names |= placeholders(english)
    for line in commands_of(told):
        names |= {line[1:]} if line.startswith("$") and line[1:].isidentifier() else placeholders(line)
    for one in [*told.get("fix", ()), *told.get("seen", ())]:
        if isinstance(one, str):
            names |= {one[1:]} if one.startswith("$") else of_step(one)
        else:
            names |= {one[word] for word in ("when", "unless") if word in one}
            names |= of_step(one["step"]) - set(one.get("with", ())) if "step" in one else set()
    return names - GIVEN


def of_step(name):
    told = subject_of(SHARED)[name]
    return wanted({"fix": [told]})


@pytest.mark.parametrize(("subject", "name"), ROWS)
def test_a_finding_is_whole(subject, name):
    told = row(subject, name)
    assert set(told) <= WORDS | OF_LINES, "words that nobody reads"
    assert {"severity", "title", "why", "fix"} <= set(told)
    assert not {"shows", "seen"} <= set(told)
    assert told["severity"] in {"note", "warning", "fault"}
    assert told.get("confidence", "sure") in {"sure", "likely", "maybe"}
    assert all(set(one) <= OF_STEPS for one in told["fix"] if isinstance(one, dict))
    assert all(set(one) <= OF_EVIDENCE for one in told.get("seen", ()) if isinstance(one, dict))
    assert set(steps_named(told)) <= set(subject_of(SHARED))


@pytest.mark.parametrize(("subject", "name"), [*ROWS, *((SHARED, name) for name in subject_of(SHARED))])
def test_both_languages_say_it_with_the_same_values(subject, name):
    told = row(subject, name)
    for english, chinese in sentences_of(told if subject != SHARED else {"fix": [told]}):
        assert placeholders(english) == placeholders(chinese), english
        if len(re.findall(r"(?<!\S)[a-z]{2,}(?!\S)", english)) > 2:
            assert re.search("[\u4e00-\u9fff]", chinese), f"left in English: {english}"


def test_every_finding_that_is_asked_for_is_there_and_every_one_there_is_asked_for():
    there = set(ROWS) | {(SHARED, name) for name in subject_of(SHARED)}
    assert sorted(key for key in asked() if key not in there) == []
    by_tables = {(SHARED, step) for key in ROWS for step in steps_named(row(*key))}
    by_likes = {(subject, subject_of(subject)[name].get("like")) for subject, name in ROWS}
    assert sorted(there - set(asked()) - by_tables - by_likes) == []


def test_each_is_handed_what_it_names():
    short = [
        f"{place}: {key} lacks {sorted(missing)}"
        for key, calls in asked().items()
        for values, open_ended, place in calls
        if not open_ended
        and (missing := (of_step(key[1]) if key[0] == SHARED else wanted(row(*key))) - values)
    ]
    assert short == []


def test_no_value_is_handed_that_nobody_names():
    spare = [
        f"{place}: {sorted(left)}"
        for key, calls in asked().items()
        for values, _, place in calls
        if key in ROWS
        and (left := values - all_wanted(key) - {"device", "vendor", "about", "severity", "confidence"})
    ]
    assert spare == []


def all_wanted(key):
    """Of all findings that the same calls ask for: one call may choose between two."""
    places = {place for _, _, place in asked()[key]}
    both = [other for other, calls in asked().items() if {place for _, _, place in calls} & places]
    return set().union(*(wanted(row(*other)) for other in both if other in ROWS))


def test_values_are_quoted_in_commands_and_stand_as_they_are_in_sentences():
    told = advise("memory.swap_none", memory="1 GiB", gib="4; rm -rf /")
    assert "fallocate -l '4; rm -rf /'G" in told.fix[0].command
    assert "4; rm -rf / GiB" in tell(told.fix[0].says, CHINESE)
    assert advised_step("reboot").command == "systemctl reboot"
