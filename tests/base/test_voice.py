"""No printed sentence falls back into the old style (voice.csv)."""

from __future__ import annotations

import csv
import re
import tomllib

import pytest

import housetree as house
from rigright.base.words import CHINESE

DATA = house.PACKAGE / "data"
BANNED = tuple(csv.DictReader(house.ROOT.joinpath("tests/base/voice.csv").read_text("utf-8").splitlines()))


def printed():
    """Every English sentence of the code and of the tables of advice."""
    for path in (DATA / "words" / CHINESE).glob("*.toml"):
        yield from tomllib.loads(path.read_text(encoding="utf-8"))["sentences"]
    for path in (*(DATA / "advice").glob("*.toml"), DATA / "binding.toml"):
        yield from texts(tomllib.loads(path.read_text(encoding="utf-8")))


def texts(told):
    if isinstance(told, dict):
        for key, value in told.items():
            if key != "zh":
                yield from texts(value)
    elif isinstance(told, list):
        for value in told:
            yield from texts(value)
    elif isinstance(told, str):
        yield told


SENTENCES = tuple(printed())


@pytest.mark.parametrize("phrase", [row["phrase"] for row in BANNED])
def test_no_sentence_is_in_the_old_style(phrase):
    found = [text for text in SENTENCES if re.search(phrase, text)]
    better = next(row["better"] for row in BANNED if row["phrase"] == phrase)
    assert found == [], f"write {better}"


def test_the_table_finds_what_it_bans():
    """Each pattern matches its own example, so none is a dead letter."""
    assert len(BANNED) > 20
    assert [row for row in BANNED if not re.search(row["phrase"], row["example"])] == []
