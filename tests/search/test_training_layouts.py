"""Training layouts: they fit on every stage, honour the batch, use every paid card, and come soon."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import settings

from rigright.arch.sources.open import open_model
from rigright.base.units import show_bytes
from rigright.choice.training import able_of, spaces_of
from rigright.demand import PlanWish, TrainingWish
from rigright.facts.nodes import find_node
from rigright.predict.trained_memory import training_memory
from rigright.search.find import find
from rigright.search.training_space import cuts_of
from rigright.verbs.explain_training import explain_training
from spoken import shown

MODELS = ("llama-3.1-8b", "llama-3.1-70b", "gemma-2-27b", "deepseek-v3")
MACHINES = ("rtx 4090", "4x rtx 3090", "7x a100 40gb", "8x h100", "64x h100", "256 nodes of 8x h800")
WORKS = ("finetune", "pretrain")


def told(plan):
    """What notes say beside their words."""
    return [shown(note) for note in plan.notes]


def gathered(plan):
    return plan.work.micro_batch * plan.work.accumulate * plan.layout.dp


EVERY = 1 if settings.default.max_examples > 15 else 7  # it meets each model, machine and work all the same


@pytest.mark.parametrize(("model", "on", "work"), list(product(MODELS, MACHINES, WORKS))[::EVERY])
def test_every_stage_of_every_plan_fits_and_the_batch_is_met_or_said(market, model, on, work):
    arch = open_model(model)
    for batch in (None, 12):
        wish = PlanWish(work=work, on=on, global_batch=batch)
        for plan in find(arch, wish, market=market).plans:
            layout = plan.layout
            stages = np.arange(layout.pp)
            sizes = training_memory(arch, plan.work, layout=layout, stage=stages).least_bytes
            assert np.max(sizes) == plan.least_bytes.value <= plan.rank_bytes.value <= plan.room_bytes
            assert sum(plan.parts.values()) == pytest.approx(plan.rank_bytes.value)
            if plan.is_tight:
                assert any(show_bytes(plan.least_bytes.high) in note for note in told(plan))
            assert layout.tp * layout.pp * layout.dp * layout.cp == plan.n_chips
            if plan.n_chips < find_node(on).n_cards:
                idle = [f"{plan.n_chips:,}", f"{find_node(on).n_cards:,}"]
                assert idle in [note[:2] for note in told(plan)]
            if batch is not None:
                assert layout.dp <= batch
                uneven = [str(gathered(plan)), str(batch), str(layout.dp)]
                assert gathered(plan) == batch or uneven in told(plan)


@pytest.mark.parametrize("on", ["2048 nodes of 8x h100", "2048x 8x h100", "16384x h100"])
def test_a_large_run_looks_as_such_runs_do(market, on):
    arch = open_model("llama-3.1-405b")
    plan = find(arch, PlanWish(work="pretrain", on=on), market=market).plans[0]
    assert (plan.layout.tp, plan.layout.pp, plan.n_chips) == (8, 16, 16384)
    assert plan.work.trainer == "megatron"
    assert plan.work.sharding == "zero1"
    assert plan.work.recompute != "full"
    assert gathered(plan) * plan.work.seq_tok == 2**24
    assert 0.35 < plan.figures["mfu"].value < 0.5, "published: 38-43 %"


def test_experts_are_spread_and_tensors_are_not_cut(market):
    arch = open_model("deepseek-v3")
    plan = find(arch, PlanWish(work="pretrain", on="256 nodes of 8x h800"), market=market).plans[0]
    assert (plan.layout.tp, plan.layout.pp, plan.layout.ep) == (1, 16, 64)
    assert (plan.work.sharding, plan.work.precision) == ("zero1", "fp8")
    assert gathered(plan) == 15_360
    bf16 = find(arch, PlanWish(work="pretrain", on="256 nodes of 8x a100 80gb"), market=market).plans[0]
    assert bf16.work.precision is None, "an A100 has no fp8"


def test_layouts_are_those_of_a_plain_walk():
    """Every tuple of the arrays, and none more, by a loop that says the rules once again."""
    arch = open_model("mixtral-8x7b")
    layers, heads, experts = 32, 32, 8
    chip = find_node("h100").cards[0].chip
    spaces = spaces_of(arch, TrainingWish(seq_tok=4096), work="pretrain", able=able_of(chip), usual=False)
    for space in spaces[:6]:
        found = cuts_of(arch, space, counts=(48, 64), batch=96)
        columns = (found.tp, found.pp, found.dp, found.cp, found.ep, found.micro_batch, found.accumulate)
        walked = set()
        training = space.training
        for count, tp, pp, cp, ep, micro in product(
            (48, 64), space.tp, space.pp, space.cp, space.ep, space.micro_batch
        ):
            dp, rest = divmod(count, tp * pp * cp)
            if rest or not dp or dp > 96 or heads % tp or pp * training.virtual_stages > layers:
                continue
            if ep > 1 and (experts % ep or tp * dp * cp % ep):
                continue
            accumulate = -(-96 // (dp * micro))
            exact = accumulate * dp * micro == 96
            odd = micro == 1 and 96 % dp and accumulate * dp <= 120
            chunked = training.schedule != "interleaved" or (pp > 1 and accumulate % pp == 0)
            if (exact or odd) and chunked:
                walked.add((tp, pp, dp, cp, ep, micro, accumulate))
        assert set(zip(*(column.tolist() for column in columns), strict=True)) == walked


def test_a_batch_too_small_for_the_cards_leaves_some_idle_and_says_so(llama8, market):
    plan = find(llama8, PlanWish(work="finetune", on="8x h100", global_batch=4), market=market).plans[0]
    assert plan.n_chips == 4
    assert ["4", "8", "4"] in told(plan)


def test_a_batch_that_replicas_do_not_divide_is_said(llama8, market):
    plan = find(llama8, PlanWish(work="finetune", on="7x h100", global_batch=64), market=market).plans[0]
    assert plan.n_chips == 7
    assert ["70", "64", "7"] in told(plan)


def test_adapters_keep_a_whole_base_a_card_where_it_fits_and_divide_it_where_it_does_not(
    market, llama8, llama70
):
    whole = find(llama8, PlanWish(work="finetune", on="4x rtx 3090", method="qlora"), market=market).plans[0]
    assert whole.work.sharding == "none"
    large = find(llama70, PlanWish(work="finetune", on="4x rtx 3090", method="qlora"), market=market).plans[0]
    assert large.work.sharding == "fsdp"
    assert large.layout.dp == 4


SAME = [
    ("llama-3.1-8b", "rtx 4090", "qlora", "finetune"),
    ("llama-3.1-8b", "2x rtx 3090", "lora", "finetune"),
    ("llama-3.1-8b", "t4", "qlora", "finetune"),
    ("llama-3.1-8b", "8x h100", "full", "finetune"),
    ("llama-3.1-70b", "8x h100", "lora", "finetune"),
    ("llama-3.1-70b", "128x h100", "full", "pretrain"),
    ("mixtral-8x7b", "128x h100", "full", "pretrain"),
    ("llama-3.1-405b", "2048 nodes of 8x h100", "full", "pretrain"),
]


@pytest.mark.parametrize(("model", "on", "method", "work"), SAME)
def test_explain_of_nothing_fixed_is_the_plan(market, model, on, method, work):
    wish = PlanWish(work=work, on=on, method=method)
    plan = find(open_model(model), wish, market=market).plans[0]
    told = explain_training(model, on, wish=TrainingWish(method=method))
    assert told.training == plan.work
    assert told.layout == plan.layout
    fullest = told.worst
    assert (fullest.used_bytes, fullest.least_bytes) == (plan.rank_bytes.value, plan.least_bytes.value)
    speed = told.time.tok_per_s_per_chip.value * plan.n_chips
    assert speed == pytest.approx(plan.figures["train_tok_per_s"].value, rel=1e-6)


@pytest.mark.parametrize("method", ["lora", "qlora"])
@pytest.mark.parametrize("on", ["rtx 4090", "rtx 3090", "rtx a6000", "2x rtx 5090"])
def test_adapters_on_a_card_at_home_learn_with_checkpointing(market, llama8, method, on):
    for plan in find(llama8, PlanWish(work="finetune", on=on, method=method), market=market).plans:
        assert plan.work.recompute == "full"


def test_qlora_of_8b_takes_what_people_see():
    told = explain_training("llama-3.1-8b", "rtx 4090", wish=TrainingWish(method="qlora", seq_tok=2048))
    assert 8 * 2**30 < told.worst.used_bytes < 12 * 2**30


@pytest.mark.parametrize(
    ("on", "name"), [("t4", "T4"), ("v100 32gb", "V100"), ("rtx 2080 ti", "2080"), ("rtx 8000", "8000")]
)
@pytest.mark.parametrize("method", ["lora", "full"])
def test_chips_without_bf16_train_in_fp16(on, name, method):
    told = explain_training("qwen2.5-0.5b", on, wish=TrainingWish(method=method))
    assert told.training.precision.startswith("fp16")
    notes = " ".join(str(note) for note in told.notes)
    assert "has no bf16" in notes
    assert name in notes


def test_pure_bf16_says_what_it_costs_and_mixed_does_not():
    pure = explain_training("llama-3.2-1b", "rtx 4090", wish=TrainingWish())
    assert any(" no fp32 " in f" {note}" for note in pure.notes)
    kept = TrainingWish(precision="bf16-mixed", offload="none", micro_batch=pure.training.micro_batch)
    mixed = explain_training("llama-3.2-1b", "rtx 4090", wish=kept)
    assert not any(" no fp32 " in f" {note}" for note in mixed.notes)
    assert mixed.worst.least_bytes > pure.worst.least_bytes
