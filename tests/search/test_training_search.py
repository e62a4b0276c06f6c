"""Trainings that people ask for, and laws of their search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.base.errors import AskError
from rigright.cost.training.learners import trunk_of
from rigright.demand import PlanWish
from rigright.facts.chips import chips
from rigright.predict.trained import steps
from rigright.predict.trained_memory import training_memory
from rigright.search.find import find
from rigright.search.training import find_training
from rigright.terms.training import set_up, training_rates

TUNE = {"work": "finetune", "samples": 10_000, "seq_tok": 2048}


def test_a_hobbyist_tunes_on_one_card(llama8, market):
    """24 GB hold the adapters of an 8B model, and never its full training."""
    found = find(llama8, PlanWish(on="1x rtx 4090", **TUNE), market=market)
    assert found.plans[0].work.method in {"lora", "qlora"}
    full = find(llama8, PlanWish(on="1x rtx 4090", method="full", **TUNE), market=market)
    assert all(plan.work.offload != "none" for plan in full.plans), (
        "only with optimizer states in host memory"
    )


@pytest.mark.parametrize("work", ["finetune", "pretrain"])
def test_a_chip_of_no_known_speed_is_refused(llama8, market, work):
    unknown = [chip for chip in chips() if not (chip.training_flops_per_s or chip.fp32_flops_per_s)]
    assert unknown
    told = set()
    for chip in unknown:
        with pytest.raises(AskError) as refused:
            find(llama8, PlanWish(**TUNE | {"work": work}, on=chip.id), market=market)
        told.add(refused.value.sentence)
    assert len(told) == 1, "all for one and the same reason"


def test_a_lab_tunes_a_small_model_in_full(llama8, market):
    found = find(llama8, PlanWish(on="8x h100", method="full", **TUNE), market=market)
    first = found.plans[0]
    assert first.work.sharding in {"fsdp", "zero3"}
    assert 0.2 < first.figures["mfu"].value < 0.7
    assert first.rank_bytes.value <= first.room_bytes
    assert first.figures["days"].value < 1


def test_pretraining_cuts_the_model(llama70, market):
    wish = PlanWish(work="pretrain", on="64x h100", train_tok=1e11)
    found = find(llama70, wish, market=market)
    first = found.plans[0]
    layout = first.layout
    assert layout.tp * layout.pp * layout.dp * layout.cp == first.n_chips
    assert layout.tp <= 8, "tensors are cut inside a box"
    assert 0.35 < first.figures["mfu"].value < 0.65
    gathered = first.work.micro_batch * first.work.accumulate * layout.dp
    assert gathered == pytest.approx(1024, rel=0.25), "steps of 4 million tokens"


def test_a_deadline_takes_more_chips(llama70, market):
    wish = PlanWish(work="pretrain", chips=("h100",), train_tok=1e11)
    slow = find(llama70, replace(wish, days=60), market=market).plans[0]
    fast = find(llama70, replace(wish, days=5), market=market).plans[0]
    assert fast.n_chips > slow.n_chips
    assert fast.figures["days"].value <= 5


def test_a_deadline_nobody_keeps(llama70, market):
    wish = PlanWish(work="pretrain", on="8x a100 80gb", train_tok=1e12, days=1)
    found = find(llama70, wish, market=market)
    assert not found.plans
    if found.nearest is not None:
        assert {one.limit for one in found.broken} == {"days"}
        assert found.broken[0].nearest > 1
    else:
        assert found.broken[0].limit == "memory"


def test_rented_boxes_that_train_together_are_joined_by_a_network(llama70, market):
    found = find(llama70, PlanWish(work="pretrain", chips=("h100",), train_tok=1e11, days=20), market=market)
    offers = {
        f"{offer.provider} {offer.instance}": offer for chip in market.offers.values() for offer in chip
    }
    for plan in found.plans:
        if plan.supply.how == "rent" and plan.supply.n_units > 1:
            offer = offers[plan.supply.label.partition("x ")[2]]
            assert offer.network_bytes_per_s * 8 >= 100e9


def test_tokens_that_were_not_told_leave_days_out(llama8, market):
    found = find(llama8, PlanWish(work="finetune", on="1x h100"), market=market)
    assert "days" not in found.plans[0].figures
    assert any("tokens" in str(note) for note in found.notes)


tunings = st.builds(
    PlanWish,
    work=st.just("finetune"),
    chips=st.sampled_from([("h100",), ("a100 80gb",), ("rtx 4090",), ("mi300x",)]),
    samples=st.sampled_from([500, 20_000]),
    seq_tok=st.sampled_from([512, 2048, 4096]),
)


@given(wish=tunings, budget=st.floats(0.5, 1e5), more=st.floats(1, 50))
@few
def test_a_larger_budget_never_gives_a_worse_best(llama8, market, wish, budget, more):
    costs = []
    for usd in (budget, budget * more):
        plans = find_training(llama8, replace(wish, budget_usd=usd), market=market).plans
        assert all(plan.figures["usd_total"].value <= usd for plan in plans)
        costs.append(plans[0].figures["usd_total"].value if plans else np.inf)
    assert costs[1] <= costs[0] * 1.03001


@given(
    machine=st.sampled_from(["8x h100", "4x a100 80gb", "2x rtx 4090", "64x h100"]),
    work=st.sampled_from(["finetune", "pretrain"]),
)
@few
def test_figures_of_a_plan_are_those_of_the_laws(llama8, market, machine, work):
    wish = PlanWish(work=work, on=machine, train_tok=1e9)
    for plan in find_training(llama8, wish, market=market).plans:
        stages = np.arange(plan.layout.pp)
        memory = training_memory(llama8, plan.work, layout=plan.layout, stage=stages)
        assert plan.least_bytes.value == np.max(memory.least_bytes) <= plan.room_bytes
        rates = training_rates([plan.chip], set_up(plan.work, hidden=trunk_of(llama8).hidden))
        time = steps(llama8, plan.work, layout=plan.layout, rates=rates)
        told = plan.figures["train_tok_per_s"].value
        assert told == pytest.approx(float(time.tok_per_s_per_chip[0]) * plan.n_chips, rel=1e-12)
        assert plan.figures["days"].value == pytest.approx(1e9 / told / 86_400)
