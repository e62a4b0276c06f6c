"""What holds for every mixture of experts."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from examples import few
from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.record import Cut
from rigright.base.errors import DataError

SMALL = {
    "model_type": "qwen3_moe",
    "vocab_size": 101,
    "hidden_size": 32,
    "intermediate_size": 48,
    "moe_intermediate_size": 24,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "num_experts": 8,
    "num_experts_per_tok": 2,
}


def small(**changes):
    return read_config({**SMALL, **changes}, "small")


@given(st.integers(2, 64), st.integers(1, 2))
def test_an_expert_more_adds_its_three_matrices_and_a_row_of_the_router(experts, per_tok):
    fewer = small(num_experts=experts, num_experts_per_tok=per_tok)
    more = small(num_experts=experts + 1, num_experts_per_tok=per_tok)
    each = 3 * 32 * 24 + 32
    assert count.params(more) - count.params(fewer) == 4 * each
    assert count.active_params(more) - count.active_params(fewer) == 4 * 32


@given(st.integers(1, 8))
@few
def test_active_never_exceeds_all_and_meets_it_when_all_are_used(per_tok):
    arch = small(num_experts_per_tok=per_tok)
    assert count.active_params(arch) <= count.params(arch)
    assert (count.active_params(arch) == count.params(arch)) == (per_tok == 8)


@pytest.mark.parametrize(
    ("said", "dense"),
    [
        ({"mlp_only_layers": [1]}, [1]),
        ({"decoder_sparse_step": 2}, [0, 2]),
        ({"mlp_layer_types": ["dense", "sparse", "sparse", "dense"]}, [0, 3]),
    ],
)
def test_dense_layers_stand_where_the_config_says(said, dense):
    layers = small(**said).trunk.layers
    assert [index for index, layer in enumerate(layers) if not layer.ffn.experts] == dense


@pytest.mark.parametrize(
    ("kind", "said", "sparse"),
    [
        ("glm4_moe", {"first_k_dense_replace": 3}, [3]),
        ("mimo_v2_flash", {"moe_layer_freq": [0, 1, 0, 1]}, [1, 3]),
        ("ernie4_5_moe", {"moe_layer_start_index": 1, "moe_layer_end_index": -1}, [1, 2, 3]),
        ("ernie4_5_moe", {"moe_layer_start_index": 1, "moe_layer_end_index": 2}, [1, 2]),
        ("llama4_text", {"interleave_moe_layer_step": 2}, [1, 3]),
        ("step3p5", {"moe_layers_enum": "2,3", "num_local_experts": 8}, [2, 3]),
        ("afmoe", {"num_dense_layers": 2}, [2, 3]),
    ],
)
def test_every_way_to_say_which_layers_have_experts(kind, said, sparse):
    layers = small(model_type=kind, n_routed_experts=8, moe_num_experts=8, **said).trunk.layers
    assert [index for index, layer in enumerate(layers) if layer.ffn.experts] == sparse


def test_experts_are_cut_whole_and_used_in_part():
    weights = [w for w in small().trunk.layers[0].weights if w.role.startswith("expert.")]
    assert [(w.cut, w.copies, w.used) for w in weights] == [(Cut.EXPERT, 8, 2)] * 3


def test_sizes_a_layer_may_be_lists():
    arch = small(
        model_type="hunyuan_v1_moe",
        moe_topk=[1, 2, 2, 2],
        moe_intermediate_size=[24, 24, 32, 32],
        num_shared_expert=[1] * 4,
    )
    assert [layer.ffn.per_tok for layer in arch.trunk.layers] == [1, 2, 2, 2]
    assert [layer.ffn.width for layer in arch.trunk.layers] == [24, 24, 32, 32]


@pytest.mark.parametrize(
    "bad",
    [
        {"num_experts_per_tok": 9},
        {"num_experts": -1},
        {"num_experts": float("nan")},
        {"num_experts": "many"},
        {"mlp_layer_types": ["dense"]},
        {"moe_intermediate_size": 10**12},
        {"num_hidden_layers": 10**7},
        {"decoder_sparse_step": 0},
        {"mlp_only_layers": "all"},
    ],
)
def test_what_cannot_be_is_refused_in_words(bad):
    with pytest.raises(DataError) as error:
        small(**bad)
    assert str(error.value)
