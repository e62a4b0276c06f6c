"""Models that cards have no room for, beside main memory: as little leaves the cards as will do."""

from __future__ import annotations

import pytest

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.choice.offload import flags, least_offload, memories_with, ram_bytes, with_offload
from rigright.demand import Offload, PlanWish, Serving, ServingWish
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.verbs.explain import explain
from rigright.verbs.fit import FitWish, fit
from rigright.verbs.plan import plan

ASKED = [
    ("gpt-oss-120b", "rtx 4090 + 64gb ddr5-6000 + 7950x"),
    ("llama-3.3-70b", "rtx 4090 + 64gb"),
    ("qwen3-235b-a22b", "2x rtx 3090 + epyc 7443 + 256gb 8ch"),
]


@pytest.mark.parametrize(("model", "machine"), ASKED)
def test_plan_and_explain_leave_the_same_part_in_main_memory(model, machine):
    told = explain(model, machine)
    first = plan(model, wish=PlanWish(on=machine)).first
    assert told.fits
    assert told.ram is not None
    assert first is not None
    assert first.work.offload == told.serving.offload
    assert first.work.weights == told.weights
    assert first.figures["tpot_s"].value == pytest.approx(told.speed.tpot_s.value)
    assert told.ram.used_bytes <= told.ram.total_bytes


@pytest.mark.parametrize(("model", "machine"), ASKED)
def test_one_layer_less_in_main_memory_overfills_a_card(model, machine):
    arch, node = open_model(model), find_node(machine)
    serving = Serving(engine="llama.cpp b7000", weights="gguf:Q4_K_M", context_tok=8192)
    found = least_offload(arch, serving, cards=node.cards, host=node.host)
    assert found is not None
    less = (
        Offload(layers=found.layers, experts=found.experts - 1)
        if found.experts
        else Offload(layers=found.layers - 1)
    )
    for offload, fits in ((found, True), (less, False)):
        memory = memories_with(arch, with_offload(serving, offload), offload=offload, cards=node.cards)
        assert all(bool(one.fits) for one in memory) == fits


def test_main_memory_that_is_too_small_is_no_answer():
    node = find_node("rtx 4090 + 32gb")
    serving = Serving(engine="llama.cpp b7000", weights="gguf:MXFP4", context_tok=8192)
    assert least_offload(open_model("gpt-oss-120b"), serving, cards=node.cards, host=node.host) is None


def test_what_fits_on_the_cards_stays_there():
    told = explain("qwen3-14b", "rtx 4090 + 64gb")
    assert told.ram is None
    assert told.serving.offload is None


def test_flags_count_layers_as_llama_cpp_does():
    arch = open_model("deepseek-r1")  # 61 layers, the first three without experts
    engine = find_engine("llama.cpp")
    assert flags(arch, Offload(experts=20), engine=engine) == "-ngl 62 --n-cpu-moe 23 -b 2048 -ub 2048"
    assert flags(open_model("llama-3.3-70b"), Offload(layers=30), engine=engine) == "-ngl 51 -b 2048 -ub 2048"
    serving = Serving(engine="ollama", weights="gguf:Q4_K_M", context_tok=8192)
    node = find_node("rtx 3060 12gb + 64gb")
    found = least_offload(open_model("qwen3-30b-a3b"), serving, cards=node.cards, host=node.host)
    assert found is not None
    assert found.experts == 0, "Ollama moves whole layers"
    moved = flags(open_model("qwen3-30b-a3b"), found, engine=find_engine("ollama"))
    assert moved == f"PARAMETER num_gpu {49 - found.layers}"


def test_cards_and_main_memory_hold_the_whole_model_together():
    arch, node = open_model("gpt-oss-120b"), find_node("rtx 4090 + 64gb")
    serving = Serving(engine="llama.cpp b7000", weights="gguf:MXFP4", context_tok=8192)
    found = least_offload(arch, serving, cards=node.cards, host=node.host)
    on_cards = sum(
        float(one.weights_bytes) for one in memories_with(arch, serving, offload=found, cards=node.cards)
    )
    whole = memories_with(arch, serving, offload=Offload(), cards=node.cards)
    table = ram_bytes(arch, serving, offload=Offload())
    held = on_cards + ram_bytes(arch, serving, offload=found) - table
    assert held == pytest.approx(sum(float(one.weights_bytes) for one in whole))


def test_a_card_alone_is_told_how_much_main_memory_would_do():
    told = explain("gpt-oss-120b", "rtx 4090")
    assert not told.fits
    best = next(one for one in told.remedies if one.fits)
    assert "64gb" in best.flag
    assert explain("gpt-oss-120b", best.flag.removeprefix("--on ").strip("'")).fits


def test_processors_alone_run_what_their_memory_holds():
    told = explain("llama-3.1-8b", "ryzen 7950x, 64gb", wish=ServingWish(weights="Q4_K_M"))
    assert told.fits
    assert 6 < told.speed.user_tok_per_s.value < 18
    assert not explain("llama-3.3-70b", "ryzen 7950x, 32gb", wish=ServingWish(weights="Q8_0")).fits


def test_fit_finds_more_beside_main_memory_and_never_puts_what_crawls_first():
    few = FitWish(family="gpt_oss", max_params=130e9)
    alone, beside = fit("rtx 4090", wish=few), fit("rtx 4090 + 64gb", wish=few)
    assert beside.found > alone.found
    assert any(row.ram_bytes for row in beside.models)
    assert beside.models[0].user_tok_per_s.value > 5
    small = FitWish(family="gemma3", min_params=3e9)
    paces = [row.user_tok_per_s.value for row in fit("n100 16gb", wish=small).models]
    assert paces[0] > 4
    assert min(paces) < 4


def test_a_split_that_somebody_asks_for_is_the_one_that_is_told():
    wish = ServingWish(cpu_moe=30)
    told = explain("gpt-oss-120b", "rtx 4090 + 64gb", wish=wish)
    assert told.serving.offload == Offload(experts=30)
    assert "--n-cpu-moe 30" in told.ram.flags
    usual = explain("gpt-oss-120b", "rtx 4090 + 64gb")
    assert usual.speed.tpot_s.value < told.speed.tpot_s.value
    dense = explain("llama-3.3-70b", "rtx 4090", wish=ServingWish(gpu_layers=31, weights="Q4_K_M"))
    assert dense.serving.offload == Offload(layers=50)
    assert dense.ram.flags.startswith("-ngl 31 ")


def test_a_split_that_overfills_the_card_is_told_a_better_one():
    told = explain("gpt-oss-120b", "rtx 4090 + 64gb", wish=ServingWish(cpu_moe=20))
    assert not told.fits
    better = next(one for one in told.remedies if one.flag and "--cpu-moe" in one.flag)
    asked = ServingWish(cpu_moe=int(better.flag.split()[-1]))
    assert explain("gpt-oss-120b", "rtx 4090 + 64gb", wish=asked).fits


def test_experts_of_a_model_without_any_are_refused():
    with pytest.raises(AskError):
        explain("llama-3.1-8b", "rtx 4090 + 64gb", wish=ServingWish(cpu_moe=3))


def test_longer_passes_serve_more_tokens_of_what_is_sent_over_the_bus():
    machine = "rtx 4090 + 64gb"
    short, long = (
        explain("gpt-oss-120b", machine, wish=ServingWish(budget_tok=tok, prompt_tok=8192, output_tok=256))
        for tok in (512, 2048)
    )
    assert long.speed.ttft_s.value < 0.6 * short.speed.ttft_s.value
    assert "-ub 512" in short.ram.flags
    assert "-ub 2048" in long.ram.flags


def test_a_machine_with_much_memory_is_not_rented_at_the_price_of_a_bare_card():
    machine = "rtx 4090 + 512gb ddr5 + epyc 9354"
    bought = plan("deepseek-r1", wish=PlanWish(on=machine)).first
    rented = plan("deepseek-r1", wish=PlanWish(on=machine, buy=False)).first
    assert bought is not None
    assert rented is not None
    assert (bought.supply.how, rented.supply.how) == ("buy", "rent")


def test_more_main_memory_is_never_rented_for_less():
    paid = []
    for machine in ("t4", "t4 + 16gb", "t4 + 64gb", "t4 + 200gb"):
        first = plan("qwen3-4b", wish=PlanWish(on=machine, buy=False, clouds=("aws",))).first
        assert first is not None
        assert first.supply.usd_per_h is not None
        paid.append(first.supply.usd_per_h.value)
    assert paid == sorted(paid)
    assert paid[0] < paid[-1]
