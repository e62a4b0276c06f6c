"""Dense decoders against totals that their publishers state, and against what tells their families apart."""

from __future__ import annotations

import pytest

from rigright.arch import cache, count
from rigright.arch.read import read_config
from rigright.arch.record import Mix
from rigright.arch.sources import zoo

# totals of the publishers' own weight files, and the configs beside them
PUBLISHED = {
    "Llama-3.2-1B": (1_235_814_400, zoo.config("meta-llama/Llama-3.2-1B")),
    "Mistral-Nemo": (12_247_782_400, zoo.config("mistralai/Mistral-Nemo-Instruct-2407")),
    "Qwen2.5-0.5B": (494_032_768, zoo.config("Qwen/Qwen2.5-0.5B")),
    "phi-2": (2_779_683_840, zoo.config("microsoft/phi-2")),
    "gemma-3-1b": (999_885_952, zoo.config("google/gemma-3-1b-it")),
    "gpt2": (124_439_808, {"model_type": "gpt2"}),
    "gpt-j-6b": (6_050_882_784, {"model_type": "gptj"}),
    "opt-350m": (
        331_196_416,
        {
            "model_type": "opt",
            "hidden_size": 1024,
            "ffn_dim": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "word_embed_proj_dim": 512,
            "do_layer_norm_before": False,
            "vocab_size": 50272,
        },
    ),
    "chatglm3-6b": (
        6_243_584_000,
        {
            "model_type": "chatglm",
            "hidden_size": 4096,
            "num_layers": 28,
            "num_attention_heads": 32,
            "ffn_hidden_size": 13696,
            "padded_vocab_size": 65024,
            "add_qkv_bias": True,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "kv_channels": 128,
        },
    ),
    "Phi-3-small": (
        7_392_272_384,
        {
            "model_type": "phi3small",
            "hidden_size": 4096,
            "ff_intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "vocab_size": 100352,
        },
    ),
    "OpenELM-270M": (
        271_527_168,
        {
            "model_type": "openelm",
            "model_dim": 1280,
            "head_dim": 64,
            "num_transformer_layers": 16,
            "num_query_heads": [12] * 5 + [16] * 7 + [20] * 4,
            "num_kv_heads": [3] * 5 + [4] * 7 + [5] * 4,
            "ffn_multipliers": [
                *(0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13),
                *(2.37, 2.6, 2.83, 3.07, 3.3, 3.53, 3.77, 4.0),
            ],
            "ffn_dim_divisor": 256,
            "vocab_size": 32000,
            "share_input_output_layers": True,
            "normalize_qk_projections": True,
        },
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_totals_that_publishers_state(name):
    published, raw = PUBLISHED[name]
    assert count.params(read_config(raw, name)) == published


def test_null_absent_and_default_are_three_things():
    mistral = {"model_type": "mistral"}
    absent = read_config(mistral, "absent")
    null = read_config({**mistral, "sliding_window": None}, "null")
    told = read_config({**mistral, "sliding_window": 100}, "told")
    windows = [arch.trunk.layers[0].mixer.window_tok for arch in (absent, null, told)]
    assert windows == [4096, None, 100]
    assert cache.kv_bytes_per_token(absent) == 0 < cache.kv_bytes_per_token(null)


def test_a_null_key_value_head_count_means_one_for_each_head():
    raw = {"model_type": "mistral", "num_key_value_heads": None}
    assert read_config(raw, "x").trunk.layers[0].mixer.kv_heads == 32


def test_gemma_3_slides_five_layers_of_six():
    kinds = [layer.mixer.kind for layer in read_config({"model_type": "gemma3_text"}, "x").trunk.layers]
    assert kinds[:6] == [Mix.WINDOW] * 5 + [Mix.FULL]
    assert kinds.count(Mix.FULL) == 26 // 6


def test_qwen_slides_only_when_asked_and_late():
    raw = {"model_type": "qwen2", "num_hidden_layers": 4, "max_window_layers": 2, "sliding_window": 64}
    silent = read_config(raw, "x").trunk.layers
    asked = read_config({**raw, "use_sliding_window": True}, "x").trunk.layers
    assert [layer.mixer.window_tok for layer in silent] == [None] * 4
    assert [layer.mixer.window_tok for layer in asked] == [None, None, 64, 64]


def test_gemma_3n_borrows_caches_and_keeps_small_tables():
    arch = read_config({"model_type": "gemma3n_text"}, "x")
    borrowing = [layer.mixer.shares_cache for layer in arch.trunk.layers]
    assert borrowing == [False] * 20 + [True] * 15
    assert count.embedding_params(arch) == 262400 * 2048


def test_a_searched_nemotron_has_layers_without_attention_or_feed_forward():
    attention, ffn = {"n_heads_in_group": 8}, {"ffn_mult": 2.625}
    blocks = [
        {"attention": attention, "ffn": ffn},
        {"attention": {"no_op": True}, "ffn": ffn},
        {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
    ]
    raw = {
        "model_type": "nemotron-nas",
        "hidden_size": 64,
        "num_attention_heads": 8,
        "num_hidden_layers": 3,
        "vocab_size": 100,
        "block_configs": blocks,
    }
    layers = read_config(raw, "x").trunk.layers
    assert [layer.mixer is None for layer in layers] == [False, True, True]
    assert [layer.ffn is None for layer in layers] == [False, False, True]
    assert layers[0].ffn.width == 256
    assert cache.kv_bytes_per_token(read_config(raw, "x")) == 2 * 1 * 8 * 2


def test_mimo_keeps_its_prediction_layer_apart():
    raw = {
        "model_type": "mimo",
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 100,
        "num_nextn_predict_layers": 1,
    }
    arch = read_config(raw, "x")
    assert [tower.name for tower in arch.spare] == ["mtp"]
    assert count.params(arch) == count.params(read_config({**raw, "num_nextn_predict_layers": 0}, "x"))
