"""What scripts rely on: keys of the JSON and the types of their values may be added to, never renamed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HELD = Path(__file__).parent / "json_contract.json"
QUESTIONS = json.loads(HELD.read_text(encoding="utf-8"))


def shape(value):
    """Names and types: a list speaks by its first element."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    return "null" if value is None else "text"


def lost(held, now, where=""):
    """What was there and is not, or is of another type; null says nothing of a type."""
    if isinstance(held, dict) and isinstance(now, dict):
        for key, inner in held.items():
            if key in now:
                yield from lost(inner, now[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is gone"
    elif isinstance(held, list) and isinstance(now, list):
        if held and now:
            yield from lost(held[0], now[0], f"{where}[]")
    elif held != now and "null" not in {
        held if isinstance(held, str) else "",
        now if isinstance(now, str) else "",
    }:
        yield f"{where} was {held}, is {now}"


@pytest.mark.parametrize("line", QUESTIONS)
def test_no_key_is_lost_and_no_type_changes(ask, line):
    assert list(lost(QUESTIONS[line], shape(ask(line).data))) == []


@pytest.mark.parametrize("line", QUESTIONS)
def test_json_is_one_value_in_english_keys_whatever_the_language(ask, line):
    english, chinese = (ask(f"{line} --lang {code}").data for code in ("en", "zh"))
    assert list(lost(shape(english), shape(chinese))) == []
    assert all(key.isascii() for key in keys(chinese))


def keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_an_error_is_json_too(ask):
    for line in (
        "explain nothing-of-the-kind --on h100 --json",
        "fit --on nothing --json",
        "look-up chops --json",
    ):
        said = ask(line)
        assert said.code > 0
        assert set(said.data["error"]) >= {"kind", "message", "exit_code"}
        assert said.data["error"]["exit_code"] == said.code
