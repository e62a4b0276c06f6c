"""Adapters: which matrices carry them, how many elements they add, how they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.read import read_config
from rigright.arch.record import Cut, Weight
from rigright.base.errors import AskError
from rigright.cost.training.learners import GROUPS, NAMES, check_targets, halves, is_target
from rigright.cost.training.states import adapter_groups

LLAMA = {
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "num_hidden_layers": 2,
}
MIXTRAL = LLAMA | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}


def targeted(config, targets):
    layer = read_config(config, "model").trunk.layers[0]
    return sorted(weight.role for weight in layer.weights if is_target(weight, targets))


@pytest.mark.parametrize(
    ("targets", "roles"),
    [
        ("attn", ["attn.k", "attn.o", "attn.q", "attn.v"]),
        ("q v", ["attn.q", "attn.v"]),
        ("ffn", ["ffn.down", "ffn.gate", "ffn.up"]),
        ("down", ["ffn.down"]),
        ("linear", ["attn.k", "attn.o", "attn.q", "attn.v", "ffn.down", "ffn.gate", "ffn.up"]),
        ("all", ["attn.k", "attn.o", "attn.q", "attn.v", "ffn.down", "ffn.gate", "ffn.up"]),
        ("q attn", ["attn.k", "attn.o", "attn.q", "attn.v"]),
    ],
)
def test_words_and_groups_name_matrices(targets, roles):
    assert targeted(LLAMA, targets) == roles


def test_experts_carry_adapters_only_where_asked():
    assert not any(role.startswith("expert") for role in targeted(MIXTRAL, "linear"))
    assert targeted(MIXTRAL, "experts") == ["expert.down", "expert.gate", "expert.up"]
    assert "expert.up" in targeted(MIXTRAL, "all")
    assert "router" not in targeted(MIXTRAL, "all")


def test_a_fused_projection_carries_one_adapter_for_all_it_holds():
    fused = Weight(role="attn.qkv", shape=(3072, 1024), cut=Cut.OUT)
    assert is_target(fused, "q v")
    assert is_target(fused, "qkv")
    assert not is_target(fused, "o")
    assert is_target(Weight(role="ffn.gate_up", shape=(5632, 1024), cut=Cut.OUT), "up")


@pytest.mark.parametrize("role", ["embed", "head", "norm", "attn.q.bias", "position", "router"])
def test_tables_norms_and_biases_carry_none(role):
    shape = (64,) if role in {"norm", "attn.q.bias"} else (64, 64)
    assert not is_target(Weight(role=role, shape=shape), "all")


def test_a_is_whole_where_the_output_is_cut_and_b_where_the_input_is():
    (a, a_cut), (b, b_cut) = halves(Weight(role="attn.q", shape=(64, 128), cut=Cut.OUT))
    assert (a, a_cut, b, b_cut) == (128, Cut.WHOLE, 64, Cut.OUT)
    (a, a_cut), (b, b_cut) = halves(Weight(role="attn.o", shape=(128, 64), cut=Cut.IN))
    assert (a, a_cut, b, b_cut) == (64, Cut.IN, 128, Cut.WHOLE)
    (a, a_cut), (b, b_cut) = halves(Weight(role="expert.up", shape=(64, 32), cut=Cut.EXPERT, copies=8))
    assert (a, a_cut, b, b_cut) == (256, Cut.EXPERT, 512, Cut.EXPERT)


@given(st.sampled_from(sorted(GROUPS)), st.integers(0, 2))
def test_half_the_adapters_are_fewer_and_scales_are_one_an_output(targets, seed):
    layer = read_config((LLAMA, MIXTRAL, LLAMA | {"num_key_value_heads": 16})[seed], "m").trunk.layers[0]

    def elems(kind, **how):
        groups = adapter_groups(layer, targets, **how)
        return sum(group.elems for group in groups if group.kind == kind)

    whole = elems("matrix", scaled=False, half=False)
    assert elems("matrix", scaled=False, half=True) <= whole
    outputs = sum(w.shape[0] * w.copies for w in layer.weights if is_target(w, targets))
    assert elems("vector", scaled=True, half=False) == outputs
    inputs = sum(w.shape[1] * w.copies for w in layer.weights if is_target(w, targets))
    assert whole == outputs + inputs


@pytest.mark.parametrize("targets", [*sorted(GROUPS), *sorted(NAMES), "q k v o", "attn down"])
def test_known_targets_pass(targets):
    check_targets(targets)


@pytest.mark.parametrize("targets", ["", "   ", "head", "q,v", "attention", "q nose"])
def test_unknown_targets_list_the_known(targets):
    with pytest.raises(AskError) as caught:
        check_targets(targets)
    assert "attn" in str(caught.value)
    assert "gate_up" in str(caught.value)
