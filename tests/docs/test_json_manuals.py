"""Every key that a script may read stands in a manual, and the manuals name no key that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HELD = json.loads((ROOT / "tests" / "stories" / "json_contract.json").read_text(encoding="utf-8"))
MANUALS = {
    "plan": "plan-json.md", "compare": "plan-json.md",
    "build": "build-json.md", "cost": "cost-json.md", "prices": "cost-json.md",
    "simulate": "simulate-json.md", "sweep": "simulate-json.md", "calibrate": "simulate-json.md",
    "doctor": "doctor-json.md",
    "probe": "probe-json.md",
    "setup": "setup-json.md",
    "bench": "bench-json.md", "measure": "measure-json.md",
    "watch": "watch-json.md", "history": "watch-json.md",
    "diagnose": "diagnose-json.md", "upgrade": "upgrade-json.md", "fleet": "fleet-json.md",
    "export": "fleet-json.md",
    "explain": "explain-json.md", "fit": "explain-json.md", "validate": "explain-json.md",
}  # fmt: skip
DEEP = {"build", "bench", "measure", "watch", "history", "diagnose", "upgrade", "fleet", "export", "doctor"}
ELSEWHERE = {"machine": "probe", "findings": "doctor", "results": "bench"}  # whose manual tells of them
LINES = [line for line in HELD if line.split()[0] in MANUALS]


def words(name):
    """Every word of a manual that is set as code."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"[A-Za-z_0-9]+", code)}


@pytest.mark.parametrize("line", LINES)
def test_every_key_of_an_answer_is_in_the_manual(line):
    missing = sorted(set(HELD[line]) - words(MANUALS[line.split()[0]]))
    assert missing == []


def below(value, verb):
    """Every key inside, at any depth; what another verb's manual tells is left to it."""
    if isinstance(value, list):
        return {key for one in value for key in below(one, verb)}
    if not isinstance(value, dict):
        return set()
    own = [one for name, one in value.items() if ELSEWHERE.get(name, verb) == verb]
    return set(value).union(*(below(one, verb) for one in own))


@pytest.mark.parametrize("line", [line for line in LINES if line.split()[0] in DEEP])
def test_keys_at_any_depth_are_in_the_manual(line):
    verb = line.split()[0]
    missing = sorted(below(HELD[line], verb) - words(MANUALS[verb]))
    assert missing == []


@pytest.mark.parametrize("verb", ["simulate", "sweep", "doctor"])
def test_the_manual_names_no_key_that_is_gone(verb):
    text = (ROOT / "docs" / MANUALS[verb]).read_text(encoding="utf-8")
    (section,) = re.findall(rf"## `rigright {verb} .*?(?=\n## |\Z)", text, flags=re.DOTALL)
    heads = re.findall(r"^\| (`[^|]+) \|", section, flags=re.MULTILINE)
    named = {word for head in heads for word in re.findall(r"`(\w+)", head)}
    there = {key for line in LINES if line.startswith(verb) for key in HELD[line]}
    assert sorted(named - there) == []


def test_every_verb_that_answers_in_json_is_held():
    assert {line.split()[0] for line in LINES} == set(MANUALS)
