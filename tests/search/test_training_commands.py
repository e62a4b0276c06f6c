"""A plan of a training and `explain --train` of its own command say the same."""

from __future__ import annotations

import pytest

from rigright.arch.count import params
from rigright.choice.training import LARGE_PARAMS
from rigright.demand import PlanWish, Training, TrainingWish
from rigright.faces.cli.main import verb_parser
from rigright.faces.cli.options import typed_options
from rigright.options.read import fill, values_of
from rigright.options.row import TRAINS
from rigright.report.pages.plan_next import explain_flags
from rigright.search.find import find
from rigright.verbs.explain_training import explain_training

TUNE = {"work": "finetune", "samples": 10_000, "seq_tok": 2048}
QUESTIONS = [
    ("llama-3.1-8b", {"on": "1x rtx 4090", **TUNE}),
    ("llama-3.1-8b", {"on": "8x h100", "method": "full", **TUNE}),
    ("llama-3.1-8b", {"on": "2x rtx 3090", "method": "qlora", **TUNE}),
    ("llama-3.1-8b", {"on": "1x h100", "method": "full", **TUNE}),
    ("llama-3.1-70b", {"on": "8x h200", "method": "full", **TUNE}),
    ("llama-3.1-70b", {"on": "2 nodes of 8x h100", "method": "full", **TUNE}),
    ("llama-3.1-8b", {"on": "16x h100", "work": "pretrain", "train_tok": 1e9}),
]


def explained(model, plan):
    options = verb_parser("explain", "en").read([model, *explain_flags(plan, wish=PlanWish())])
    values = values_of("explain", typed_options(options, "explain"), kinds=TRAINS)
    wish = fill(TrainingWish, "explain", values=values)
    return explain_training(model, options.on, wish=wish)


@pytest.mark.parametrize(("model", "wish"), QUESTIONS)
def test_a_plan_says_what_explain_says_of_its_command(request, market, model, wish):
    arch = request.getfixturevalue({"llama-3.1-8b": "llama8", "llama-3.1-70b": "llama70"}[model])
    plans = find(arch, PlanWish(**wish), market=market).plans
    assert plans
    for plan in plans:
        told = explained(model, plan)
        assert told.time is not None
        assert told.training == plan.work
        assert told.layout == plan.layout
        tok_per_s = told.time.tok_per_s_per_chip.value * plan.n_chips
        assert tok_per_s == pytest.approx(plan.figures["train_tok_per_s"].value, rel=1e-6)
        assert told.time.mfu == pytest.approx(plan.figures["mfu"].value, rel=1e-6)
        fullest = told.worst
        assert (fullest.used_bytes, fullest.least_bytes) == (plan.rank_bytes.value, plan.least_bytes.value)


def test_adapters_lie_where_explain_puts_them(llama8, market):
    found = find(llama8, PlanWish(on="1x rtx 4090", method="lora", **TUNE), market=market)
    assert found.plans[0].work.targets == Training().targets


def test_states_of_8_bit_make_room_for_a_full_training(llama8, market):
    """8B weights and gradients of 16 bit with states of 2 bytes fit where plain AdamW does not."""
    wish = PlanWish(on="1x h100 64gb", method="full", **TUNE)
    plan = find(llama8, wish, market=market).plans[0]
    assert plan.work.optimizer == "adamw-8bit"
    assert plan.work.offload == "none"
    told = explained("llama-3.1-8b", plan)
    assert "8-bit" in told.optimizer


def test_8_bit_states_run_where_their_library_does(llama8, market):
    wish = PlanWish(on="1x mi300x", method="full", **TUNE)
    assert all(plan.work.optimizer is None for plan in find(llama8, wish, market=market).plans)


def test_only_large_models_are_cut_when_tuned(llama8, llama70, market):
    assert params(llama8) < LARGE_PARAMS < params(llama70)
    small = find(llama8, PlanWish(on="8x h100", method="full", **TUNE), market=market)
    assert all(plan.layout.tp == plan.layout.pp == 1 for plan in small.plans)
    large = find(llama70, PlanWish(on="2 nodes of 8x h100", method="full", **TUNE), market=market)
    assert large.plans
