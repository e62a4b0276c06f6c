"""What scripts rely on: keys of the JSON and the types of their values may be added to, never renamed.

That answers are as they were and as their schemas say is judged in `faces/test_every_answer.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rigright.faces.cli import described as described_by
from rigright.faces.cli.front import verbs
from rigright.faces.cli.schemas import names, schema

ROOT = Path(__file__).parent.parent.parent


def test_every_command_has_a_schema():
    assert {*names()} == {*verbs(), "rigright", "error"} - {"web"}  # which answers on its page alone


@pytest.fixture(scope="module")
def made():
    """The schemas, and the script that lists their keys."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import published
    finally:
        sys.path.pop(0)
    return published, {name: schema(name) for name in names()}


def promised(keys):
    """A key that is always there keeps the promise that it may be; an object that got a name is one still."""
    held = set(keys)
    verbs_of = {
        verb: [line for line in held if line.startswith(f"{verb} ")]
        for verb in {line.split()[0] for line in held}
    }
    for verb, lines in verbs_of.items():
        for line in lines:
            key, _, kind = line.removeprefix(f"{verb} ").partition(" ")
            inside = [one for one in lines if one.startswith(f"{verb} {kind}.")]
            if inside:
                held |= {f"{verb} {key} object", *(one.replace(f" {kind}.", f" {key}.", 1) for one in inside)}
    return held | {f"{key} optional" for key in held}


def test_no_key_that_was_published_goes_or_changes_its_type(made):
    """One that must go raises `SCHEMA_VERSION`, and its line is taken out with it."""
    script, schemas = made
    published = (Path(__file__).parent / "published_keys.txt").read_text(encoding="utf-8").splitlines()
    gone = sorted(set(published) - promised(script.every_key(schemas)))
    assert not gone, f"Add keys, do not rename or remove them, nor change their types: {gone}"


def described(where, schema):
    """Each key with whether its meaning is said."""
    if isinstance(schema, dict):
        for key, value in (schema.get("properties") or {}).items():
            yield f"{where}.{key}", bool(value.get("description"))
        for key, value in schema.items():
            yield from described(f"{where}.{key}", value)
    elif isinstance(schema, list):
        for one in schema:
            yield from described(where, one)


def test_every_key_says_what_it_means(made):
    """In a remark beside its field, or in data/meanings.toml; there nothing stands that no key means."""
    _, schemas = made
    found = [key for name, schema in schemas.items() for key in described(name, schema)]
    assert len(found) > 2800
    mute = [key for key, is_said in found if not is_said]
    assert not mute, f"Say what it means beside its field, or in data/meanings.toml: {mute}"
    assert all({"$id", "title", "description"} <= schema.keys() for schema in schemas.values())
    table = {(kind, name) for kind, held in described_by.meanings().items() for name in held}
    assert table == described_by.used
