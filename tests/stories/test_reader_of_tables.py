"""Somebody looks things up: every kind, narrowed down, in order, cut short, with sources, in Chinese too."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

# kind -> (a word that finds something, a number to sort by, a field with a word and a value to filter by)
KINDS = {
    "chips": ("4090", "mem_bytes", "vendor=nvidia"),
    "cpus": ("epyc", "cores", "vendor=amd"),
    "clouds": ("h100", "n_chips", "provider=aws"),
    "prices": ("4090", "usd", "kind=launch"),
    "software": ("pytorch", None, "product=pytorch"),
    "engines": ("vllm", None, "pool=share"),
    "formats": ("q4_k_m", "bits_per_weight", None),
    "models": ("qwen3", "params", "task=text"),
    "myths": ("nvlink", "id", None),
    "benchmarks": ("h100", None, "kind=measured"),
    "platforms": ("am5", None, None),
    "architectures": ("ada", None, None),
}
HAN = re.compile(r"[\u4e00-\u9fff]")


def words_of(row):
    return " ".join(map(str, row.values())).lower().replace("-", "").replace(" ", "")


def test_the_list_of_kinds_is_what_can_be_asked(ask):
    told = ask("look-up --json").data
    listed = {row.get("kind") or row.get("name") for row in told} if isinstance(told, list) else set(told)
    assert set(KINDS) | {"model"} <= listed


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_finds_rows_and_the_page_shows_as_many(ask, kind):
    word, _, _ = KINDS[kind]
    every, found = ask(f"look-up {kind} --json").data, ask(f"look-up {kind} {word} --json").data
    assert 0 < len(found) <= len(every)
    page = ask(f"look-up {kind} {word}")
    assert page.code == 0
    assert len(page.lines) >= min(len(found), 5)
    nothing = ask(f"look-up {kind} zzzz-nothing")
    assert "nothing" in nothing.out + nothing.err or nothing.code > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_cuts_and_says_of_how_many(ask, kind):
    every = ask(f"look-up {kind} --json").data
    two = ask(f"look-up {kind} --limit 2 --json").data
    assert two == every[:2]
    if len(every) > 2:
        assert re.search(rf"2 of {len(every)}\b", ask(f"look-up {kind} --limit 2").out)
    for wrong in ("-3", "two"):
        said = ask(f"look-up {kind} --limit {wrong}")
        assert said.code == 2, wrong
        assert re.fullmatch(r"error: [^\n]+\n(hint: [^\n]+\n)?", said.err)


@pytest.mark.parametrize("kind", [kind for kind, (_, field, _) in KINDS.items() if field])
def test_rows_stand_in_the_order_asked_for_and_the_other_way_round(ask, kind):
    _, field, _ = KINDS[kind]
    down = ask(f"look-up {kind} --sort {field} --json").data
    told = [row[field] for row in down if row[field] is not None]
    assert len(told) > 3
    assert all(one >= other for one, other in pairwise(told))
    up = ask(f"look-up {kind} --sort {field} --reverse --json").data
    assert [row[field] for row in up if row[field] is not None] == told[::-1]


@pytest.mark.parametrize("kind", [kind for kind, (_, _, condition) in KINDS.items() if condition])
def test_a_condition_keeps_what_fulfils_it_and_nothing_else(ask, kind):
    _, _, condition = KINDS[kind]
    field, _, value = condition.partition("=")
    every = ask(f"look-up {kind} --json").data
    kept = ask(f"look-up {kind} --where {condition} --json").data
    assert 0 < len(kept) <= len(every)
    assert all(value in str(row[field]).lower() for row in kept)
    names = [words_of(row) for row in kept]
    assert [words_of(row) for row in every if words_of(row) in names] == names


@pytest.mark.parametrize("kind", KINDS)
def test_both_languages_show_the_same_rows(ask, kind):
    word, _, _ = KINDS[kind]
    english, chinese = (ask(f"look-up {kind} {word} --limit 5 --lang {code}") for code in ("en", "zh"))
    assert chinese.code == 0
    assert not HAN.search(english.out.replace("显卡", ""))
    assert HAN.search(chinese.out)
    shown = [len(ask(f"look-up {kind} {word} --json --lang {code}").data) for code in ("en", "zh")]
    assert shown[0] == shown[1] > 0


@pytest.mark.parametrize("kind", ["chips", "cpus", "clouds", "prices", "software", "benchmarks"])
def test_sources_are_told_when_asked_for(ask, kind):
    word, _, _ = KINDS[kind]
    plain, sourced = ask(f"look-up {kind} {word}"), ask(f"look-up {kind} {word} --sources")
    assert len(sourced.out) > len(plain.out)
    rows = ask(f"look-up {kind} {word} --json").data
    assert all(row["source"] for row in rows)
    assert all(row["confidence"] in {"high", "medium", "med", "low"} for row in rows)


def test_a_wrong_condition_names_the_fields_there_are(ask):
    for line, told in (
        ("look-up chips --where memroy>=24GB", "mem"),
        ("look-up chips --sort colour", "mem"),
        ("look-up chips --where 'memory>=lots'", "lots"),
        ("look-up chops 4090", "see: rigright look-up"),
    ):
        said = ask(line)
        assert said.code == 2, line
        assert told in said.err, line
        assert re.fullmatch(r"error: [^\n]+\n(hint: [^\n]+\n)?", said.err)


def test_conditions_join(ask):
    rows = ask("look-up chips --vendor nvidia --min-memory 80GB --since 2022 --sort bandwidth --json").data
    assert len(rows) > 5
    assert all(row["mem_bytes"] >= 80e9 and row["launch"] >= "2022" for row in rows)
    speeds = [row["mem_bytes_per_s"] for row in rows]
    assert speeds == sorted(speeds, reverse=True)


def test_names_as_people_write_them(ask):
    for written in ("'rtx 4090'", "4090", "'GeForce RTX 4090'", "4090显卡", "'nvidia geforce rtx4090'"):
        names = [row["name"] for row in ask(f"look-up chips {written} --json").data]
        assert "GeForce RTX 4090" in names, written
