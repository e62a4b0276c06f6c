"""Somebody with one gaming card wants to know whether a model runs on it, and follows what is answered."""

from __future__ import annotations

import re
import shlex

import pytest

from rigright.base.units import GIB

QUESTION = "explain qwen2.5-7b --on 'rtx 3060 12gb'"
WHOLE = f"{QUESTION} --weights bf16"


def next_command(said):
    """The first command the page proposes, without `rigright`."""
    line = next(line for line in said.lines if line.strip().startswith("$ rigright"))
    return shlex.join(shlex.split(line.strip().removeprefix("$ "))[1:])


def test_the_first_answer_is_no_and_says_by_how_much(ask):
    said = ask(f"{WHOLE} --details")
    answer = " ".join(said.out.partition("\n\n")[0].split())
    assert said.mark == "✗"
    need, have = map(float, re.findall(r"([\d.]+) GiB", answer)[:2])
    assert 2 < need - have < 7
    (card,) = ask(f"{WHOLE} --json").data["cards"]
    assert card["spare_bytes"] < 0
    assert said.lines[-1].startswith("  $ rigright explain ")
    assert any(line.endswith(f" {card['spare_bytes'] / GIB:.2f}") for line in said.lines), "what remains"


def test_what_is_proposed_next_does_fit(ask):
    again = next_command(ask(WHOLE))
    assert again.startswith("explain qwen2.5-7b --on 'rtx 3060 12gb' --weights ")
    said = ask(f"{again} --details")
    assert said.mark == "✓"
    assert "Qwen2.5-7B" in said.lines[0]
    data = ask(f"{again} --json").data
    assert data["cards"][0]["spare_bytes"] >= 0
    assert data["remedies"] == []


def test_the_column_of_a_card_adds_up(ask):
    line = f"{QUESTION} --weights awq4"
    (card,) = ask(f"{line} --json").data["cards"]
    parts = {name: size for name, size in card["parts_bytes"].items() if size}
    assert sum(parts.values()) == pytest.approx(card["used_bytes"])
    assert parts["weights"] > 7.6e9 / 2  # 4 bits of each parameter at least
    said = ask(f"{line} --details")
    for size in (*parts.values(), card["used_bytes"]):
        assert any(row.endswith(f" {size / GIB:.2f}") for row in said.lines), "each is a row of the page"


def test_a_smaller_file_leaves_more_room(ask):
    rooms = []
    for form in ("Q8_0", "Q6_K", "Q4_K_M", "Q2_K"):
        data = ask(f"{QUESTION} --engine llama.cpp --weights {form} --json").data
        assert data["fits"]
        assert data["weights"] == f"gguf:{form}"
        rooms.append(data["limits"]["context_tok"])
    assert rooms == sorted(rooms)
    assert rooms[-1] == 32_768


def test_the_same_answer_in_chinese(ask):
    english, chinese = ask(WHOLE), ask(f"{WHOLE} --lang zh")
    assert chinese.mark == english.mark == "✗"
    assert re.search("[\u4e00-\u9fff]", chinese.lines[0])
    tables = [sorted(re.findall(r"-?\d+\.\d\d\b", said.out)) for said in (english, chinese)]
    assert tables[0] == tables[1]
    assert next_command(english) == next_command(chinese).replace("--lang zh ", "")
    assert english.code == chinese.code


def test_what_else_the_card_could_run(ask):
    listed = ask("fit --on 'rtx 3060 12gb' --task text --family qwen3 --limit 5 --json").data
    assert len(listed["models"]) == 5
    best = listed["models"][0]
    words = f"--engine {best['engine']} --weights {best['weights_format']} --context {best['context_tok']}"
    explained = ask(f"explain {best['model']} --on 'rtx 3060 12gb' {words} --json").data
    assert explained["fits"]
    assert explained["params"] == best["params"]


def test_a_slip_of_the_pen_is_answered_with_what_was_meant(ask):
    said = ask("explain qwen2.5-7b --on 'rtx 3O60 12gb'")
    assert said.code == 2
    assert said.out == ""
    error, hint = said.err.splitlines()
    assert error.endswith(' GPU "rtx 3O60 12gb"')
    assert " GeForce RTX 3060 12GB" in hint
    said = ask("explain qwen-2.5-7bb --on 'rtx 3060 12gb'")
    assert said.code > 0
    assert "Qwen2.5-7B" in said.err
    said = ask("explian qwen2.5-7b --on 'rtx 3060 12gb'")
    assert said.code == 2
    assert "explain" in said.err
