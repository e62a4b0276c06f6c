"""Phases of a step, told part by part: what stands when, and what sets the peak."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rigright.arch.read import read_config
from rigright.cost.training.memory import LASTING, PARTS, PASSES
from rigright.demand import Layout, Training
from rigright.facts.corrections import corrections
from rigright.facts.training import find_trainer
from rigright.predict.trained_memory import training_memory
from rigright.terms.training import KINDS, peak_band

PARAMS = 8_030_261_248
LLAMA = read_config(
    {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "num_hidden_layers": 32,
    },
    "meta-llama/Llama-3.1-8B",
)
HEAD = 128256 * 4096


def memory(layout=None, **asked):
    return training_memory(LLAMA, Training(**asked), layout=layout or Layout())


def test_after_loading_only_what_lasts_is_there():
    found = memory(precision="bf16")
    assert set(found.by_phase["load"]) <= LASTING
    assert float(found.phases["load"]) == PARAMS * (2 + 4)


def test_a_short_step_peaks_in_the_optimizer_with_ten_bytes_a_parameter():
    found = memory(precision="bf16", seq_tok=128)
    assert float(found.allocated_bytes) == PARAMS * 10
    assert float(found.parts["step"]) == PARAMS * 2
    fused = memory(precision="bf16", optimizer="adamw-fused", seq_tok=128)
    assert float(fused.phases["step"]) == PARAMS * 8


def test_a_long_step_peaks_where_the_backward_pass_starts():
    found = memory(precision="bf16", seq_tok=16384, recompute="full")
    assert float(found.allocated_bytes) == float(found.phases["backward-start"])
    assert float(found.parts["gradients"]) == 0  # none is there yet
    assert float(found.parts["loss"]) > 0


def test_logits_of_a_long_vocabulary_outweigh_the_working_set():
    found = memory(method="lora", seq_tok=4096, recompute="full")
    start = found.by_phase["backward-start"]
    assert float(start["loss"]) == 4096 * (128256 * 14 + 4096 * 6)
    assert float(start["working"]) == 0
    chunked = memory(method="lora", seq_tok=4096, recompute="full", chunked_loss=True)
    assert float(chunked.parts["working"]) > float(chunked.parts["loss"]) > 0


def test_full_recompute_keeps_two_bytes_an_element_and_layer():
    found = memory(seq_tok=4096, micro_batch=3, recompute="full")
    assert float(found.by_phase["backward-start"]["activations"]) == 2 * 4096 * 32 * 4096 * 3


def test_a_prepared_4_bit_base_doubles_the_stream():
    plain = memory(trainer="hf-lean", method="qlora", seq_tok=4096, recompute="full")
    prepared = memory(trainer="hf", method="qlora", seq_tok=4096, recompute="full")
    kept = [float(found.by_phase["backward-start"]["activations"]) for found in (plain, prepared)]
    assert kept[1] == 2 * kept[0]


def test_fsdp_around_a_frozen_base_keeps_inputs_and_their_gradients():
    layout = Layout(dp=2)
    found = memory(layout, method="lora", sharding="fsdp", seq_tok=4096, recompute="full")
    assert float(found.by_phase["backward-end"]["activations"]) == 2 * 2 * 4096 * 4096 * 31
    whole = memory(layout, method="full", sharding="fsdp", seq_tok=4096, recompute="full")
    assert float(whole.by_phase["backward-end"]["activations"]) == 0
    titan = memory(layout, trainer="torchtitan", method="lora", sharding="fsdp", seq_tok=4096)
    assert float(titan.by_phase["backward-end"]["activations"]) == 0


def test_one_layer_and_the_root_are_gathered():
    found = memory(Layout(dp=8), sharding="fsdp")
    layer = 2 * (4096 * (4096 * 2 + 1024 * 2) + 3 * 4096 * 14336 + 2 * 4096)
    around = 2 * (2 * HEAD + 4096)
    assert float(found.by_phase["backward-start"]["gathered"]) == layer + around
    alone = memory(Layout(dp=1), sharding="fsdp")
    assert float(alone.by_phase["backward-start"]["gathered"]) == 0


def test_megatrons_gradients_always_stand():
    found = memory(trainer="megatron", seq_tok=8192)
    assert float(found.by_phase["backward-start"]["gradients"]) == PARAMS * 4
    assert find_trainer("megatron").grads_stand


def test_autocast_keeps_a_16_bit_copy_of_the_weights():
    found = memory(trainer="pytorch", seq_tok=512)
    assert float(found.by_phase["backward-start"]["casts"]) == PARAMS * 2
    assert "casts" not in found.by_phase["step"]


def test_deepspeed_copies_its_part_of_the_gradients_in_fp32():
    for dp in (1, 2, 4):
        found = memory(Layout(dp=dp), trainer="megatron-deepspeed", sharding="zero1")
        assert float(found.by_phase["step"]["step"]) == pytest.approx(PARAMS * 4 / dp)
    buckets = memory(Layout(dp=4), trainer="deepspeed", sharding="zero2").by_phase["backward-start"][
        "buckets"
    ]
    assert float(buckets) == 2 * 500_000_000 * 2


def test_reserved_memory_is_the_backward_pass_and_the_step_together():
    found = memory(precision="bf16", seq_tok=4096)
    passing = max(
        sum(float(size) for part, size in found.by_phase[name].items() if part not in LASTING)
        for name in PASSES
    )
    together = float(found.phases["step"]) + passing
    reserve = corrections("memory_training")["terms"]["reserve"]
    assert float(found.reserved_bytes) == pytest.approx(reserve * together)


def test_terms_can_be_given():
    terms = {"reserve": 2.0, "scattered": 0.0, "context_gib": 1.0, "collectives_gib": 0.0}
    found = training_memory(LLAMA, Training(seq_tok=128), layout=Layout(), terms=terms)
    assert float(found.device_bytes - found.reserved_bytes) == 2**30
    assert float(found.reserved_bytes) > 1.9 * float(found.allocated_bytes)


def test_every_phase_holds_known_parts():
    for asked in ({}, {"method": "qlora"}, {"sharding": "zero3"}, {"offload": "all-cpu", "sharding": "fsdp"}):
        for parts in memory(Layout(dp=2), **asked).by_phase.values():
            assert set(parts) <= set(PARTS)
            assert all(np.all(np.asarray(size) >= 0) for size in parts.values())


def test_tensor_parallelism_divides_the_logits():
    one, four = (
        memory(Layout(tp=tp), trainer="megatron", seq_tok=2048).by_phase["backward-start"]["loss"]
        for tp in (1, 4)
    )
    assert float(four) < float(one) / 3


def test_context_parallelism_divides_activations_and_not_weights():
    one, two = (memory(Layout(cp=cp), seq_tok=8192) for cp in (1, 2))
    start = [found.by_phase["backward-start"] for found in (one, two)]
    assert float(start[1]["activations"]) == pytest.approx(float(start[0]["activations"]) / 2)
    assert float(start[1]["weights"]) == float(start[0]["weights"])


def test_zero_bubble_holds_up_to_twice_the_micro_batches():
    layout = Layout(pp=4)
    plain, bubble = (
        training_memory(
            LLAMA,
            Training(trainer="megatron", schedule=schedule, accumulate=16, seq_tok=2048),
            layout=layout,
        ).by_phase["backward-start"]["activations"]
        for schedule in ("1f1b", "zero-bubble")
    )
    assert float(bubble) == pytest.approx(float(plain) * 7 / 4)


def test_gpipe_holds_them_all():
    layout = Layout(pp=4)
    kept = [
        float(
            training_memory(
                LLAMA, Training(schedule="gpipe", accumulate=count, seq_tok=512), layout=layout
            ).by_phase["backward-start"]["activations"]
        )
        for count in (4, 12)
    ]
    assert kept[1] == pytest.approx(3 * kept[0])


@pytest.mark.parametrize("kind", KINDS)
def test_bands_hold_the_estimate_and_widen_where_something_was_assumed(kind):
    told, assumed = peak_band(kind, assumed=False), peak_band(kind, assumed=True)
    assert told[0] < 1 < told[1]
    assert assumed[1] - assumed[0] >= told[1] - told[0]


def test_hand_written_figures_have_the_widest_band():
    written, counted = peak_band("rounded", assumed=False), peak_band("allocated", assumed=False)
    assert written[0] < counted[0]
    assert written[1] > counted[1]


def test_the_table_of_corrections_says_what_it_was_fitted_on(root):
    text = (root / "src/rigright/data/corrections/memory_training.toml").read_text(encoding="utf-8")
    assert "figures of" in text
    assert "left out of the fit" in text


@pytest.mark.parametrize("method", ["lora", "dora", "qlora"])
def test_adapters_add_little_and_their_gradients_stand_at_the_end(method):
    found = memory(method=method, rank=8, targets="q v", seq_tok=128)
    assert float(found.by_phase["step"]["optimizer"]) < 0.01 * PARAMS
    assert float(found.by_phase["backward-end"]["gradients"]) > 0
    wider = replace(Training(method=method, rank=64, targets="all"), seq_tok=128)
    more = training_memory(LLAMA, wider, layout=Layout())
    assert float(more.by_phase["load"]["optimizer"]) > float(found.by_phase["load"]["optimizer"])
