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


@pytest.fixture(scope="module")
def listed():
    """Every row of a kind, and those of its word: asked for once."""
    found = {}

    def rows(ask, kind, word=""):
        if (kind, word) not in found:
            found[kind, word] = ask(f"look-up {kind} {word} --json").data
        return found[kind, word]

    return rows


def test_a_word_finds_rows_and_the_page_shows_as_many_in_both_languages(ask, listed):
    for kind, (word, _, _) in KINDS.items():
        every, found = listed(ask, kind), listed(ask, kind, word)
        assert 0 < len(found) <= len(every), kind
        english, chinese = (ask(f"look-up {kind} {word} --limit 5 --lang {code}") for code in ("en", "zh"))
        assert (english.code, chinese.code) == (0, 0), kind
        assert len(english.lines) >= min(len(found), 5), kind
        assert not HAN.search(english.out.replace("显卡", "")), kind
        assert HAN.search(chinese.out), kind
        nothing = ask(f"look-up {kind} zzzz-nothing")
        assert nothing.code > 0 or nothing.mark == "!" or len(nothing.lines) == 1, kind
    chinese = ask("look-up chips 4090 --json --lang zh").data
    assert [row["name"] for row in chinese] == [row["name"] for row in listed(ask, "chips", "4090")]


def test_a_limit_cuts_and_says_of_how_many(ask, listed):
    for kind in KINDS:
        every = listed(ask, kind)
        assert ask(f"look-up {kind} --limit 2 --json").data == every[:2], kind
        if len(every) > 2:
            assert re.search(rf"\b2 of {len(every)}\b", ask(f"look-up {kind} --limit 2").out), kind
    for wrong in ("-3", "many"):
        said = ask(f"look-up chips --limit {wrong}")
        assert (said.code, said.is_error) == (2, True), wrong


def test_rows_stand_in_the_order_asked_for_and_the_other_way_round(ask):
    for kind, (_, field, _) in KINDS.items():
        if field:
            down = ask(f"look-up {kind} --sort {field} --json").data
            told = [row[field] for row in down if row[field] is not None]
            assert len(told) > 3, kind
            assert all(one >= other for one, other in pairwise(told)), kind
            up = ask(f"look-up {kind} --sort {field} --reverse --json").data
            assert [row[field] for row in up if row[field] is not None] == told[::-1], kind


def test_a_condition_keeps_what_fulfils_it_and_nothing_else(ask, listed):
    for kind, (_, _, condition) in KINDS.items():
        if condition:
            field, _, value = condition.partition("=")
            every = listed(ask, kind)
            kept = ask(f"look-up {kind} --where {condition} --json").data
            assert 0 < len(kept) <= len(every), kind
            assert all(value in str(row[field]).lower() for row in kept), kind
            names = {words_of(row) for row in kept}
            assert [words_of(row) for row in every if words_of(row) in names] == list(map(words_of, kept)), (
                kind
            )


def test_sources_are_told_when_asked_for(ask, listed):
    for kind in ("chips", "cpus", "clouds", "prices", "software", "benchmarks"):
        word, _, _ = KINDS[kind]
        plain, sourced = (ask(f"look-up {kind} {word} --limit 5 {more}") for more in ("", "--sources"))
        assert len(sourced.out) > len(plain.out), kind
        rows = listed(ask, kind, word)
        assert all(row["source"] for row in rows), kind
        assert all(row["confidence"] in {"high", "med", "low"} for row in rows), kind


def test_a_wrong_condition_names_the_fields_there_are(ask):
    for line, told in (
        ("look-up chips --where memroy>=24GB", "mem"),
        ("look-up chips --sort colour", "mem"),
        ("look-up chips --where 'memory>=lots'", "lots"),
        ("look-up chops 4090", "chops 4090"),
    ):
        said = ask(line)
        assert (said.code, said.is_error) == (2, True), line
        assert told in said.err, line


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
