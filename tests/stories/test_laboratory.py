"""A laboratory with two older cards and a large model: placement, limits, and what a longer context takes."""

from __future__ import annotations

import re

import pytest

from rigright.base.units import MIB

QUESTION = "explain llama-3.1-70b --on '2x 3090' --engine llama.cpp"


def rank_bytes(data):
    """What is allocated on each rank, whatever unit the key names."""
    return [
        next(size for key, size in rank.items() if key.startswith("allocated_")) for rank in data["ranks"]
    ]


@pytest.fixture
def found(ask):
    return ask(f"{QUESTION} --json").data


def test_layers_are_dealt_out_to_both_cards(ask, found):
    first, second = found["cards"]
    assert found["weights"] == "gguf:Q4_K_M"
    assert first["layers"][0] == 0
    assert first["layers"][1] == second["layers"][0]
    assert second["layers"][1] == 80
    said = ask(f"{QUESTION} --details")
    assert said.mark == "!", "nearly full: no plain tick"
    spare = min(first["spare_bytes"], second["spare_bytes"]) / MIB
    assert f" {spare:.0f} MiB " in said.lines[0]
    begun = first["layers"][1]
    assert [f"0-{begun - 1}", f"{begun}-79"] in [line.split()[1:] for line in said.lines]


def test_the_limit_on_the_page_is_the_limit(ask, found):
    most = found["limits"]["context_tok"]
    assert any(line.endswith(f" {most:,}") for line in ask(QUESTION).lines)
    assert ask(f"{QUESTION} --context {most} --json").data["fits"]
    kept = f"{QUESTION} --weights {found['weights']} --kv 16bit"
    assert not ask(f"{kept} --context {most + 1} --json").data["fits"]


def test_a_cache_in_8_bit_nearly_doubles_the_context(ask, found):
    data = ask(f"{QUESTION} --kv q8_0 --json").data
    gained = data["limits"]["context_tok"] / found["limits"]["context_tok"]
    assert 1.6 < gained < 2
    assert data["limits"]["token_bytes"] == found["limits"]["token_bytes"] * 8.5 / 16


def test_a_third_card_helps_and_unlike_cards_are_told_apart(ask):
    data = ask(f"{QUESTION.replace('2x 3090', '2x 3090 + rtx 4060 ti 16gb')} --context 32k --json").data
    assert data["fits"]
    assert [card["chip"] for card in data["cards"]] == ["rtx-3090", "rtx-3090", "rtx-4060-ti-16gb"]
    layers = [last - first for first, last in (card["layers"] for card in data["cards"])]
    assert layers[2] < layers[0]
    assert sum(layers) == 80


def test_every_figure_can_be_asked_for_its_reason(ask):
    said = ask(f"{QUESTION} --why")
    assert re.search(r"80 x 8 x \(?128 ?\+ ?128|8 heads|kv", said.out)
    data = ask(f"{QUESTION} --why --json").data
    assert {reason["part"] for reason in data["why"]} >= {"weights", "cache", "step"}
    assert all(reason["source"] and reason["formula"] for reason in data["why"])


def test_training_on_the_same_cards(ask):
    full = ask("explain llama-3.1-8b --on '2x 3090' --train full --json").data
    small = ask("explain llama-3.1-8b --on '2x 3090' --train qlora --json").data
    assert not full["fits"]
    assert small["fits"]
    assert full["params"] == small["params"] == 8_030_261_248
    assert max(rank_bytes(small)) < max(rank_bytes(full)) / 2


def test_every_form_of_the_page_says_the_same(ask):
    plain = ask(QUESTION)
    markdown, html = ask(f"{QUESTION} --markdown"), ask(f"{QUESTION} --html")
    for figure in re.findall(r"\b\d+\.\d\d\b", plain.out):
        assert figure in markdown.out
        assert figure in html.out
    assert html.out.lower().count("<html") == html.out.lower().count("</html>") == 1
    narrow = ask(f"{QUESTION} --width 60")
    assert max(len(line) for line in narrow.lines if not line.strip().startswith("$ ")) <= 60
