"""Weights, masters, gradients and optimizer states on one rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.record import Cut, Weight
from rigright.cost.training.setup import stage_of
from rigright.cost.training.states import (
    adapter_states,
    frozen_bytes,
    full_states,
    groups_of,
    state_bytes,
    summed,
)
from rigright.demand import Layout, Training
from rigright.facts.training import find_optimizer, optimizers
from rigright.predict.trained_memory import training_memory
from rigright.terms.memory import weights_bytes
from rigright.terms.training import set_up

STATES = ("weights", "master", "grads", "optimizer")


def llama(**changes):
    values = {
        "model_type": "llama",
        "hidden_size": 1024,
        "intermediate_size": 2816,
        "num_attention_heads": 16,
    }
    values |= {"num_key_value_heads": 4, "vocab_size": 32000, "num_hidden_layers": 8}
    return read_config(values | changes, "llama")


def stage(training, layout=None, *, arch=None, index=0):
    arch = arch or llama()
    setup = set_up(training, hidden=arch.trunk.hidden)
    return stage_of(arch, setup, layout=layout or Layout(), index=index)


def bytes_a_param(training, layout=None):
    states = full_states(stage(training, layout))
    total = sum(np.asarray(getattr(states, name)) for name in STATES)
    return float(total) / count.params(llama())


@pytest.mark.parametrize(
    ("precision", "optimizer", "expected"),
    [
        ("bf16", "adamw", 8),  # and 2 more inside the foreach step
        ("bf16-mixed", "adamw", 18),
        ("bf16-zero", "adamw", 16),
        ("fp32", "adamw", 16),
        ("bf16-amp", "adamw", 16),
        ("bf16-mixed", "lion", 14),
        ("bf16-mixed", "sgd", 10),
        ("fp32", "sgd-momentum", 12),
        ("bf16", "sgd", 4),
        ("fp8", "adamw", 18),
    ],
)
def test_bytes_a_parameter(precision, optimizer, expected):
    training = Training(precision=precision, optimizer=optimizer)
    assert bytes_a_param(training) == pytest.approx(expected, rel=0.001)


def test_the_megatron_rule_6_plus_12_over_dp():
    """Megatron-LM's manual: 18 bytes a parameter, 6 + 12/d with the distributed optimizer."""
    for dp in (1, 2, 4, 8):
        training = Training(trainer="megatron", sharding="zero1")
        assert bytes_a_param(training, Layout(dp=dp)) == pytest.approx(6 + 12 / dp, rel=1e-6)


def test_zero_stages_of_rajbhandari():
    """ZeRO (2020), figure 1: 7.5 B parameters on 64 ranks hold 120, 31.4, 16.6 and 1.9 GB."""
    scale = 7.5e9 / count.params(llama())
    for sharding, gigabytes in (("none", 120), ("zero1", 31.4), ("zero2", 16.6), ("zero3", 1.88)):
        training = Training(precision="bf16-zero", optimizer="adamw-fused", sharding=sharding)
        states = full_states(stage(training, Layout(dp=64)))
        total = sum(float(getattr(states, name)) for name in STATES) * scale / 1e9
        assert total == pytest.approx(gigabytes, rel=0.01)


def test_eight_bit_adam_leaves_embeddings_in_32_bit():
    arch = llama()
    training = Training(precision="bf16", optimizer="adamw-8bit")
    states = full_states(stage(training))
    table = 2 * 32000 * 1024  # embedding and head
    rest = count.params(arch) - table
    assert float(states.optimizer) == pytest.approx(8 * table + 2.03125 * rest, rel=0.002)


def test_paged_states_are_not_counted_on_the_device():
    plain, paged = (
        full_states(stage(Training(precision="bf16", optimizer=name)))
        for name in ("adamw-8bit", "adamw-8bit-paged")
    )
    assert float(paged.optimizer) == 0
    assert float(paged.paged) == float(plain.optimizer)
    memory = training_memory(llama(), Training(optimizer="adamw-8bit-paged"), layout=Layout())
    assert float(memory.host_bytes) == float(paged.paged)


def test_adafactor_keeps_rows_and_columns():
    arch = llama(tie_word_embeddings=True)
    states = full_states(stage(Training(precision="fp32", optimizer="adafactor"), arch=arch))
    rows_and_columns = 8 * (2 * 1024 + 2 * (256 + 1024) + 3 * (2816 + 1024) + 2 * 1024) + (32000 + 1024)
    vectors = 17 * 1024
    assert float(states.optimizer) == pytest.approx(4 * (rows_and_columns + vectors), rel=0.05)


def test_muon_keeps_one_momentum_for_matrices_and_two_states_for_the_rest():
    arch = llama()
    states = full_states(stage(Training(precision="fp32", optimizer="muon")))
    table = 2 * 32000 * 1024
    vectors = 17 * 1024
    matrices = count.params(arch) - table - vectors
    assert float(states.optimizer) == pytest.approx(4 * matrices + 8 * (table + vectors))


@given(st.sampled_from(sorted(optimizers())), st.sampled_from(["matrix", "table", "vector"]))
def test_no_optimizer_keeps_less_than_nothing_or_more_than_adam(name, kind):
    size = state_bytes(find_optimizer(name), kind, width=4)
    assert 0 <= size <= 8


def test_adapters_of_rank_16_on_q_k_v_o_of_mistral_are_13_6_million():
    """PEFT prints 13,631,488 trainable parameters for Mistral-7B with r=16 on q, k, v, o."""
    values = {
        "model_type": "mistral",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
    }
    values |= {"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000}
    arch = read_config(values, "mistral")
    training = Training(method="lora", rank=16, targets="q k v o")
    states = adapter_states(stage(training, arch=arch))
    assert float(states.weights) / 4 == 13_631_488
    assert float(states.optimizer) / 8 == 13_631_488


def test_peft_benchmarks_trainable_counts():
    """PEFT's method comparison, Llama-3.2-3B: 9,175,040 at r=32 on q and v; 9,461,760 at r=10 on the mlp."""
    values = {"model_type": "llama", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 28}
    values |= {"num_attention_heads": 24, "num_key_value_heads": 8, "vocab_size": 128256, "head_dim": 128}
    arch = read_config(values | {"tie_word_embeddings": True}, "llama")
    for rank, targets, expected in ((32, "q v", 9_175_040), (10, "ffn", 9_461_760), (64, "q v", 18_350_080)):
        states = adapter_states(stage(Training(method="lora", rank=rank, targets=targets), arch=arch))
        assert float(states.weights) / 4 == expected
    frozen_a = adapter_states(
        stage(Training(method="lora", rank=32, targets="q v", optimizer="lora-fa"), arch=arch)
    )
    assert float(frozen_a.weights) / 4 == 3_670_016
    scaled = adapter_states(stage(Training(method="dora", rank=32, targets="q v"), arch=arch))
    assert float(scaled.weights) / 4 == 9_289_728


def test_a_frozen_base_lies_in_its_format():
    arch = llama()
    lora = frozen_bytes(stage(Training(method="lora")))
    qlora = frozen_bytes(stage(Training(method="qlora")))
    assert float(lora) == 2 * count.params(arch)
    assert float(qlora) == pytest.approx(weights_bytes(arch, "nf4"))


def test_a_frozen_base_is_divided_by_fsdp_and_not_by_zero2():
    whole = float(frozen_bytes(stage(Training(method="lora"))))
    for sharding, share in (("zero1", 1), ("zero2", 1), ("zero3", 8), ("fsdp", 8)):
        held = float(frozen_bytes(stage(Training(method="lora", sharding=sharding), Layout(dp=8))))
        assert held == pytest.approx(whole / share)


def test_hsdp_divides_inside_a_node_alone():
    node, all_ranks = (
        float(full_states(stage(Training(sharding=name), Layout(dp=64))).optimizer)
        for name in ("hsdp", "fsdp")
    )
    assert node == pytest.approx(8 * all_ranks)


@given(st.integers(0, 3), st.integers(0, 3))
def test_stages_together_hold_the_model_once(pp_power, tp_power):
    layout = Layout(pp=2**pp_power, tp=1)
    arch = llama()
    total = sum(
        float(full_states(stage(Training(), layout, index=index)).weights) for index in range(layout.pp)
    )
    assert total == 2 * count.params(arch)
    cut = full_states(stage(Training(), Layout(tp=2**tp_power)))
    whole = full_states(stage(Training()))
    assert float(cut.weights) <= float(whole.weights)


def test_tied_embeddings_stand_on_both_ends_of_a_pipeline():
    tied = llama(tie_word_embeddings=True)
    held = [float(full_states(stage(Training(), Layout(pp=4), arch=tied, index=i)).weights) for i in range(4)]
    assert sum(held) == 2 * (count.params(tied) + 32000 * 1024)
    assert held[0] > held[1]


def test_groups_are_summed_by_cut_and_kind():
    one = groups_of([(Weight(role="attn.q", shape=(64, 128), cut=Cut.OUT), 1)])
    other = groups_of([(Weight(role="attn.o", shape=(128, 64), cut=Cut.IN), 1)])
    both = summed([(one, 3), (other, np.array([1, 2])), (one, 1)])
    assert {(group.cut, group.kind) for group in both} == {(Cut.OUT, "matrix"), (Cut.IN, "matrix")}
    assert both[0].elems == 4 * 64 * 128
    assert list(both[1].elems) == [8192, 16384]
    assert both[0].edges == 4 * (64 + 128)


def test_experts_are_shared_by_fewer_data_parallel_ranks():
    values = {"model_type": "mixtral", "hidden_size": 512, "intermediate_size": 1792, "num_hidden_layers": 2}
    values |= {"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 1000, "num_local_experts": 8}
    arch = read_config(values | {"num_experts_per_tok": 2}, "mixtral")
    training = Training(trainer="megatron", sharding="zero1")
    spread = full_states(stage(training, Layout(dp=8, ep=8), arch=arch))
    whole = full_states(stage(training, Layout(dp=8), arch=arch))
    assert float(spread.weights) < float(whole.weights) / 4
    assert float(spread.optimizer) == pytest.approx(float(whole.optimizer), rel=0.3)
