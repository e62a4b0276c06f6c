"""Hybrid, state-space and recurrent models: what grows, what stays, what is shared."""

from __future__ import annotations

import pytest

from rigright.arch import count
from rigright.arch.cache import kv_bytes_per_token, kv_constant_bytes
from rigright.arch.read import read_config
from rigright.arch.record import Mix
from rigright.arch.ssm import Mamba, mamba2
from rigright.base.errors import DataError

MAMBA2 = {
    "model_type": "mamba2",
    "vocab_size": 101,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "state_size": 8,
    "num_heads": 4,
    "head_dim": 16,
    "n_groups": 2,
    "expand": 2,
    "conv_kernel": 4,
}
NEMOTRON = {
    "model_type": "nemotron_h",
    "vocab_size": 101,
    "hidden_size": 32,
    "hybrid_override_pattern": "M-M*E",
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "mamba_num_heads": 4,
    "mamba_head_dim": 16,
    "ssm_state_size": 8,
    "n_groups": 2,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "moe_shared_expert_intermediate_size": 24,
}


def test_states_stay_while_the_context_grows():
    arch = read_config(MAMBA2, "mamba2")
    assert kv_bytes_per_token(arch) == 0
    assert kv_constant_bytes(arch) == 3 * (64 * 8 * 4 + (64 + 2 * 2 * 8) * 4 * 2)


@pytest.mark.parametrize("pattern", ["M-M*E", ["mamba", "mlp", "mamba", "attention", "moe"]])
def test_a_pattern_and_a_list_say_the_same(pattern):
    key = "hybrid_override_pattern" if isinstance(pattern, str) else "layers_block_type"
    said = {name: value for name, value in NEMOTRON.items() if name != "hybrid_override_pattern"}
    arch = read_config({**said, key: pattern}, "nemotron")
    kinds = [layer.mixer.kind if layer.mixer else None for layer in arch.trunk.layers]
    assert kinds == [Mix.SSM, None, Mix.SSM, Mix.FULL, None]
    assert [bool(layer.ffn) for layer in arch.trunk.layers] == [False, True, False, False, True]
    assert count.params(arch) == count.params(read_config(NEMOTRON, "nemotron"))


def test_a_strange_mark_in_a_pattern_is_named():
    with pytest.raises(DataError, match="Q"):
        read_config({**NEMOTRON, "hybrid_override_pattern": "M-Q"}, "nemotron")


def test_experts_may_work_in_a_narrower_width():
    wide, narrow = read_config(NEMOTRON, "wide"), read_config({**NEMOTRON, "moe_latent_size": 8}, "narrow")
    saved = 4 * 2 * 16 * (32 - 8)
    assert count.params(wide) - count.params(narrow) == saved - 2 * 8 * 32


def test_side_by_side_keeps_a_cache_and_a_state():
    arch = read_config(
        {
            "model_type": "falcon_h1",
            "vocab_size": 101,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "mamba_d_ssm": 32,
            "mamba_n_heads": 4,
            "mamba_d_state": 8,
        },
        "h1",
    )
    assert kv_bytes_per_token(arch) == 2 * 2 * 2 * 8 * 2
    assert kv_constant_bytes(arch) == 2 * (32 * 8 * 4 + (32 + 2 * 8) * 4 * 2)


def test_shared_blocks_are_counted_once_and_run_often():
    said = {
        "model_type": "zamba2",
        "vocab_size": 101,
        "hidden_size": 32,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "n_mamba_heads": 4,
        "adapter_rank": 4,
        "mamba_d_state": 8,
        "num_mem_blocks": 1,
    }
    once = read_config({**said, "layers_block_type": ["mamba", "hybrid", "mamba", "mamba"]}, "once")
    thrice = read_config({**said, "layers_block_type": ["mamba", "hybrid", "hybrid", "hybrid"]}, "thrice")
    own = 32 * 32 + 4 * 32 + 2 * 128 * 4  # what each use has of its own
    assert count.params(thrice) - count.params(once) == 2 * own
    assert count.flops_per_tok(thrice.trunk) - count.flops_per_tok(once.trunk) > 2 * 2 * own
    assert kv_bytes_per_token(thrice) == 3 * kv_bytes_per_token(once)


def test_a_pair_of_layers_may_share_one_cache():
    said = {
        "model_type": "hunyuan",
        "vocab_size": 101,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_experts": 2,
        "moe_topk": 1,
        "num_shared_expert": 1,
        "use_qk_norm": True,
    }
    apart = read_config(said, "apart")
    shared = read_config({**said, "use_cla": True, "cla_share_factor": 2}, "shared")
    assert kv_bytes_per_token(apart) == 2 * kv_bytes_per_token(shared)
    assert count.params(apart) - count.params(shared) == 2 * (2 * 16 * 32 + 8)


@pytest.mark.parametrize(("kind", "known"), [("rwkv5", 3_062_807_040), ("rwkv6", None), ("rwkv7", None)])
def test_recurrent_models_keep_one_matrix_a_head(kind, known):
    arch = read_config(
        {
            "model_type": kind,
            "vocab_size": 65536,
            "hidden_size": 2560,
            "num_hidden_layers": 32,
            "head_size": 64,
        },
        kind,
    )
    assert kv_bytes_per_token(arch) == 0
    assert kv_constant_bytes(arch) == 32 * (40 * 64 * 64 * 4 + 2 * 2560 * 2)
    assert not arch.tied
    if known:
        assert abs(count.params(arch) / known - 1) < 0.001
    assert [str(warning) for warning in arch.warnings]


def test_the_convolution_of_mamba_2_keeps_b_and_c_too():
    mixer = mamba2(Mamba(hidden=32, inner=64, state=8, conv=4, heads=4, groups=2)).mixer
    assert mixer.state16_elems == (64 + 2 * 2 * 8) * 4
    assert mixer.state32_elems == 64 * 8


def test_the_authors_own_keys_of_mamba_stand_before_the_class():
    """state-spaces/mamba-2.8b, whose config has neither model_type nor architectures."""
    own = {"d_model": 2560, "n_layer": 64, "vocab_size": 50277, "pad_vocab_size_multiple": 8, "ssm_cfg": {}}
    assert count.params(read_config(own, "x")) == 2_768_345_600
    assert count.params(read_config({**own, "architectures": ["MambaLMHeadModel"]}, "x")) == 2_768_345_600
