"""Engines: the usual one, unless it will not do; a variant is no new plan."""

from __future__ import annotations

import pytest

from rigright.arch.sources.open import open_model
from rigright.demand import PlanWish
from rigright.search.question import ask
from rigright.search.serving import filled, find_serving, wider

WORK = {"prompt_tok": 1000, "output_tok": 300}
USUAL = [  # what was asked -> the engine people take, and all that are tried where it will not do
    ({"on": "8x h100"}, "vllm", {"vllm", "sglang", "tensorrt-llm", "llama.cpp"}),
    ({"on": "8x mi300x"}, "vllm", {"vllm", "sglang", "llama.cpp"}),
    ({"on": "2x rtx 4090", "users": 16}, "vllm", {"vllm", "llama.cpp"}),
    ({"on": "2x rtx 4090", "users": 2}, "llama.cpp", {"vllm", "llama.cpp"}),
    ({"on": "1x rtx 4090"}, "llama.cpp", {"llama.cpp", "vllm"}),
    ({"on": "m3 max"}, "llama.cpp", {"llama.cpp"}),
    ({"on": "rtx 6000 ada", "work": "chat"}, "llama.cpp", {"vllm", "llama.cpp"}),
    ({"on": "rtx 6000 ada"}, "vllm", {"vllm", "sglang", "tensorrt-llm", "llama.cpp"}),
    ({"on": "tesla p40"}, "llama.cpp", {"llama.cpp"}),
    ({"on": "8x h100", "engines": ("sglang",)}, "sglang", {"sglang"}),
    ({"on": "rtx 3090 + rtx 4090"}, "llama.cpp", {"llama.cpp", "vllm"}),
    ({"on": "1x h100", "weights": ("Q4_K_M",)}, "llama.cpp", {"llama.cpp"}),
    ({"on": "rtx 4090", "weights": ("awq",)}, "vllm", {"vllm"}),
]


def engines(question):
    return {way.engine.id for way in question.ways}


def test_the_usual_engine_is_tried_first_and_the_others_where_it_will_not_do(llama8, market):
    wrong = []
    for said, usual, every in USUAL:
        question = ask(llama8, filled(llama8, PlanWish(**said), market=market), market=market)
        if engines(question) != {usual} or engines(wider(question)) != every:
            wrong.append((said, engines(question), engines(wider(question))))
    assert not wrong


def test_the_catalogue_has_one_engine_for_each_card(llama8, market):
    """So the cost of a question stays linear in cards."""
    question = ask(llama8, filled(llama8, PlanWish(users=8), market=market), market=market)
    assert all(way.usual for way in question.ways)
    taken: dict[int, set[str]] = {}
    for way in question.ways:
        for kind in way.kinds:
            taken.setdefault(kind, set()).add(way.engine.id)
    assert all(len(names) == 1 for names in taken.values())


def test_plans_are_not_variants_of_one_another(llama8, market):
    found = find_serving(llama8, PlanWish(on="8x h100", users=64, **WORK), market=market)
    told = [(plan.chip.id, plan.supply.how, plan.work.weights) for plan in found.plans]
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("asked", [("sglang",), ("sglang", "tensorrt-llm")])
def test_engines_that_were_asked_for_are_all_usual(llama8, market, asked):
    wish = PlanWish(on="2x h100", engines=asked, users=8, **WORK)
    question = ask(llama8, filled(llama8, wish, market=market), market=market)
    assert all(way.usual for way in question.ways)
    assert engines(question) == set(asked)
    plan = find_serving(llama8, wish, market=market).plans[0]
    assert plan.work.engine.split()[0] in asked


@pytest.mark.parametrize("machine", ["16x ascend 910b", "8x v100 32gb", "8x gaudi 2", "4x mi250x", "8x t4"])
@pytest.mark.parametrize("model", ["deepseek-r1", "Qwen/Qwen3-30B-A3B-FP8", "minimax-m2"])
def test_what_is_published_in_8_bit_is_unpacked_where_chips_cannot_multiply_it(market, model, machine):
    """No chip that runs 16 bit refuses a model for the format of its files."""
    arch = open_model(model)
    assert ask(arch, filled(arch, PlanWish(on=machine), market=market), market=market).ways
