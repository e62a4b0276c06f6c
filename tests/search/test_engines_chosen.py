"""Engines: the usual one, unless another gains more than our bands would hide; a variant is no new plan."""

from __future__ import annotations

import numpy as np
import pytest

from rigright.demand import PlanWish
from rigright.facts.formats import find_format
from rigright.search.question import SERVERS, ask
from rigright.search.score import score
from rigright.search.serving import filled, find_serving
from rigright.search.worth import GAIN, worthwhile

WORK = {"prompt_tok": 1000, "output_tok": 300}


def engines(question):
    return {way.engine.id for way in question.ways}


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ({"on": "8x h100"}, set(SERVERS)),
        ({"on": "8x mi300x"}, {"vllm", "sglang"}),
        ({"on": "2x rtx 4090", "users": 16}, {"vllm", "llama.cpp"}),
        ({"on": "1x rtx 4090", "work": "chat"}, {"llama.cpp", "vllm"}),
        ({"on": "m3 max", "work": "chat"}, {"llama.cpp"}),
        ({"on": "8x h100", "engines": ("sglang",)}, {"sglang"}),
        ({"on": "rtx 3090 + rtx 4090", "work": "chat"}, {"llama.cpp", "vllm"}),
    ],
)
def test_a_named_machine_is_tried_with_every_engine_that_serves_on_it(llama8, market, wish, expected):
    asked, _ = filled(llama8, PlanWish(**wish))
    assert engines(ask(llama8, asked, market=market)) == expected


def test_the_catalogue_has_one_engine_for_each_card(llama8, market):
    """So the cost of a question stays linear in cards."""
    asked, _ = filled(llama8, PlanWish(users=8))
    question = ask(llama8, asked, market=market)
    assert all(way.usual for way in question.ways)
    taken: dict[int, set[str]] = {}
    for way in question.ways:
        for kind in way.kinds:
            taken.setdefault(kind, set()).add(way.engine.id)
    assert all(len(names) == 1 for names in taken.values())


def test_another_engine_stays_only_where_it_gains(llama8, market):
    asked, _ = filled(llama8, PlanWish(on="4x h100", tpot_s=0.03, **WORK))
    question = ask(llama8, asked, market=market)
    before = score(question)
    after = worthwhile(question, before)
    usual = np.array([way.usual for way in question.ways])
    loss = np.array([find_format(way.weights).loss_rank for way in question.ways])
    points, rate = after.points, after.served["output_tok_per_s"]
    plain = usual[points.way] & (points.prefill_dp == 0)
    keeps = after.served["tpot_s"] <= 0.03
    assert plain.sum() == (usual[before.points.way] & (before.points.prefill_dp == 0)).sum()
    for place in np.flatnonzero(~plain):
        alike = plain & keeps & (points.n_chips == points.n_chips[place])
        alike &= loss[points.way] <= loss[points.way[place]]
        assert rate[place] >= GAIN * rate[alike].max(initial=0.0)


def test_plans_are_not_variants_of_one_another(llama8, market):
    found = find_serving(llama8, PlanWish(on="8x h100", users=64, **WORK), market=market)
    told = [(plan.chip.id, plan.supply.how, plan.work.weights) for plan in found.plans]
    assert len(set(told)) == len(told)


def test_engines_that_were_asked_for_are_all_usual(llama8, market):
    wish = PlanWish(on="2x h100", engines=("sglang", "tensorrt-llm"), users=8, **WORK)
    question = ask(llama8, wish, market=market)
    assert all(way.usual for way in question.ways)
    plan = find_serving(llama8, wish, market=market).plans[0]
    assert plan.work.engine.split()[0] in {"sglang", "tensorrt-llm"}


def test_a_chat_at_home_keeps_its_engine(llama8, market):
    plan = find_serving(llama8, PlanWish(on="1x rtx 4090", work="chat"), market=market).plans[0]
    assert plan.work.engine.startswith("llama.cpp")
