"""The reader: which family a config goes to, what is assumed of strangers, how weights are stored."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest
from totals_explained import explain_total

from rigright.arch import count, pick
from rigright.arch.config import Config
from rigright.arch.read import read_config
from rigright.arch.record import Mix
from rigright.arch.stored import stored_format
from rigright.base.tables import DATA, read_toml
from rigright.base.words import CHINESE, tell
from spoken import values

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 101,
    "tie_word_embeddings": False,
    "rms_norm_eps": 1e-6,
    "hidden_act": "silu",
}
LLAMA = {**SIZES, "model_type": "llama"}


@pytest.mark.parametrize(
    ("told", "family"),
    [
        ({"model_type": "llama"}, "llama"),
        ({"model_type": "nemotron-nas", "block_configs": [{}]}, "nemotron_nas"),
        ({"model_type": "Yi", "architectures": ["YiForCausalLM"]}, "llama"),
        ({"architectures": ["Qwen2ForCausalLM"]}, "qwen2"),
        ({"model_type": "unheard_of", "architectures": ["MistralForCausalLM"]}, "mistral"),
        ({"model_type": "ministral3", "text_config": {"model_type": "ministral3"}}, None),
    ],
)
def test_a_config_goes_to_the_family_it_names(told, family):
    assert pick.known(Config(told, "x")) == family


def test_the_usual_case_imports_no_kin():
    code = (
        "import sys; from rigright.arch.read import read_config; "
        f"read_config({LLAMA!r}, 'x'); "
        "print(sum(name.startswith('rigright.arch.kin.') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_a_stranger_is_read_by_its_keys_and_told_of():
    arch = read_config({**SIZES, "model_type": "zorblax"}, "x")
    assert count.params(arch) == count.params(read_config(LLAMA, "x"))
    assert {"type": "zorblax"} in [values(warning) for warning in arch.warnings]
    assert len(arch.warnings) == 2, "and what was assumed"


def test_keys_alone_are_enough():
    arch = read_config(SIZES, "x")
    assert count.params(arch) == count.params(read_config(LLAMA, "x"))
    assert any("has no model_type" in str(warning) for warning in arch.warnings)


@pytest.mark.parametrize(
    "other",
    [
        {"n_embd": 64, "n_inner": 96, "n_layer": 3, "n_head": 4, "num_kv_heads": 2},
        {"d_model": 64, "ffn_hidden_size": 96, "n_layers": 3, "n_heads": 4, "n_kv_heads": 2},
        {"dim": 64, "ffn_dim": 96, "num_layers": 3, "num_heads": 4, "n_head_kv": 2},
    ],
)
def test_synonyms_mean_the_same(other):
    kept = {key: SIZES[key] for key in ("vocab_size", "tie_word_embeddings", "rms_norm_eps", "hidden_act")}
    assert count.params(read_config({**kept, **other}, "x")) == count.params(read_config(SIZES, "x"))


def test_a_stranger_with_experts_has_experts():
    raw = {**SIZES, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    arch = read_config({**raw, "model_type": "zorblax"}, "x")
    assert arch.trunk.layers[0].ffn.experts == 8
    assert count.params(arch) - count.active_params(arch) == 3 * 6 * 3 * 32 * 64


def test_a_stranger_with_a_latent_has_latent_attention():
    more = {
        "kv_lora_rank": 32,
        "q_lora_rank": 24,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 16,
        "v_head_dim": 16,
    }
    arch = read_config({**SIZES, **more, "model_type": "zorblax"}, "x")
    assert arch.trunk.layers[0].mixer.kind == Mix.LATENT
    assert arch.trunk.layers[0].mixer.latent_dim == 40


def test_a_stranger_with_windows_has_windows():
    raw = {**SIZES, "model_type": "zorblax", "sliding_window": 32}
    every_third = read_config({**raw, "sliding_window_pattern": 3}, "x").trunk.layers
    listed = read_config(
        {**raw, "layer_types": ["full_attention", "sliding_attention", "x"]}, "x"
    ).trunk.layers
    assert [layer.mixer.window_tok for layer in every_third] == [32, 32, None]
    assert [layer.mixer.window_tok for layer in listed] == [None, 32, None]


def test_the_params_json_of_meta_and_of_mistral():
    meta = {"dim": 4096, "n_layers": 32, "n_heads": 32, "multiple_of": 256, "vocab_size": 32000}
    mistral = {**meta, "n_kv_heads": 8, "head_dim": 128, "hidden_dim": 14336, "vocab_size": 32768}
    assert count.params(read_config(meta, "Llama-2-7B")) == 6_738_415_616
    assert count.params(read_config(mistral, "Mistral-7B-v0.3")) == 7_248_023_552
    mixtral = {**mistral, "vocab_size": 32000, "moe": {"num_experts": 8, "num_experts_per_tok": 2}}
    assert count.params(read_config(mixtral, "Mixtral-8x7B")) == 46_702_792_704


def test_kin_by_name_before_keys_alone():
    raw = {**SIZES, "model_type": "olmo9"}
    assert read_config(raw, "x").family == "olmo3"


def test_a_language_part_inside_is_read_and_the_rest_told_of():
    arch = read_config({"model_type": "zorblax_vl", "text_config": LLAMA, "vision_config": {}}, "x")
    assert arch.family == "llama"
    assert any('"text_config"' in str(warning) for warning in arch.warnings)


def test_warnings_speak_chinese_too():
    arch = read_config({**SIZES, "model_type": "zorblax"}, "x")
    assert all(
        "模型" in tell(warning, CHINESE) or "推定" in tell(warning, CHINESE) for warning in arch.warnings
    )


def test_dimensions_that_had_to_be_assumed_are_named():
    bare = read_config({"model_type": "mistral"}, "bare")
    assert count.params(bare) == 7_241_732_096
    assert values(bare.warnings[0]) == {
        "where": "bare",
        "keys": "hidden_size, num_hidden_layers, num_attention_heads",
    }
    assert read_config(LLAMA, "whole").warnings == ()


def test_where_a_config_of_ours_came_from_is_kept():
    arch = read_config({**LLAMA, "_source": "a place", "_fidelity": "derived"}, "x")
    assert arch.source == "a place; derived"


@pytest.mark.parametrize(
    ("told", "dtype"), [("float16", "fp16"), ("torch.bfloat16", "bf16"), ("float32", "fp32")]
)
def test_the_published_precision(told, dtype):
    assert read_config({**LLAMA, "torch_dtype": told}, "x").dtype == dtype


SCHEMES = [
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block"),
    ({"quant_method": "fp8"}, "fp8"),
    ({"quant_method": "fbgemm_fp8"}, "fp8-channel"),
    ({"quant_method": "awq", "bits": 4}, "awq4"),
    ({"quant_method": "gptq", "bits": 4}, "gptq4"),
    ({"quant_method": "gptq", "bits": 8}, "gptq8"),
    ({"quant_method": "mxfp4"}, "mxfp4"),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "nf4"),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
    ({"quant_algo": "MIXED_PRECISION", "moe_quant_algo": "NVFP4"}, "nvfp4"),
    (
        {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}},
        },
        "int4-32",
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "format": "float-quantized",
            "config_groups": {
                "group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}
            },
        },
        "fp8-channel",
    ),
]


@pytest.mark.parametrize(("scheme", "stored"), SCHEMES)
def test_how_weights_are_stored(scheme, stored):
    assert stored_format(Config({"quantization_config": scheme}, "x")) == (stored, ())
    assert stored in read_toml(DATA / "formats.toml")


def test_mlx_says_it_under_another_key():
    assert stored_format(Config({"quantization": {"bits": 4, "group_size": 64}}, "x")) == ("mlx4", ())


def test_an_unknown_scheme_is_told_of():
    stored, warnings = stored_format(Config({"quantization_config": {"quant_method": "zorblax"}}, "x"))
    assert stored is None
    assert "zorblax" in str(warnings[0])


def test_where_the_scheme_says_nothing_the_name_may():
    scheme = {"quantization_config": {"quant_algo": "MIXED_PRECISION"}}
    stored, warnings = stored_format(Config(scheme, "someone/Model-NVFP4"))
    assert stored == "nvfp4"
    assert values(warnings[0]) == {"scheme": "MIXED_PRECISION", "format": "nvfp4"}


def test_a_total_that_agrees_needs_no_words():
    arch = read_config(LLAMA, "x")
    assert explain_total(arch, count.params(arch)) is None


def test_a_tied_head_stored_twice_is_seen():
    arch = read_config({**LLAMA, "tie_word_embeddings": True}, "x")
    total = count.params(arch) + count.embedding_params(arch)
    told = values(explain_total(arch, total))
    assert told["elems"] == f"{count.embedding_params(arch):,}"
    assert told["published"] == f"{total:,}"


def test_what_nothing_explains_stays_unexplained():
    arch = read_config(LLAMA, "x")
    assert explain_total(arch, count.params(arch) + 7_654_321) is None


EXPLAINED = {
    "Qwen/Qwen3-0.6B": 751632384,
    "Qwen/Qwen3-235B-A22B-FP8": 235107904512,
    "nvidia/Qwen3-235B-A22B-NVFP4": 132806618624,
    "EleutherAI/pythia-12b": 11997067840,
    "openai-community/gpt2-xl": 1607942848,
    "meta-llama/Llama-2-7b-hf": 6738417664,
    "tiiuae/falcon-180B": 179522565120,
    "XiaomiMiMo/MiMo-7B-Base": 7833409536,
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 81324862720,
    "deepseek-ai/DeepSeek-V3.2": 685355329792,
    "deepseek-ai/DeepSeek-V4-Flash": 290944616402,
    "deepseek-ai/DeepSeek-V4-Pro": 1598839674782,
    "zai-org/GLM-4.5": 358337791296,
    "zai-org/GLM-4.6": 356785898816,
    "zai-org/GLM-4.7-Flash": 31221488576,
    "zai-org/GLM-5.2": 753329940480,
    "baidu/ERNIE-4.5-21B-A3B-PT": 21948655808,
}


@pytest.mark.parametrize("model", EXPLAINED)
def test_published_totals_are_explained_to_the_last_element(shared, model):
    path = shared / "models" / "configs" / f"{model.replace('/', '__')}.json"
    arch = read_config(json.loads(path.read_text(encoding="utf-8")), model)
    told = explain_total(arch, EXPLAINED[model])
    assert told is not None
    numbers = values(told)
    assert numbers["published"] == f"{EXPLAINED[model]:,}"
    assert numbers["params"] == f"{count.params(arch):,}"


def test_most_published_totals_that_differ_are_explained(shared):
    told = {}
    for row in csv.DictReader((shared / "models" / "params.csv").read_text(encoding="utf-8").splitlines()):
        if row["published_total"] and row["published_total"] != row["params"]:
            path = shared / "models" / "configs" / f"{row['model'].replace('/', '__')}.json"
            arch = read_config(json.loads(path.read_text(encoding="utf-8")), row["model"])
            told[row["model"]] = explain_total(arch, int(row["published_total"]))
    assert sum(sentence is not None for sentence in told.values()) >= 33
    nominal = ("facebook/opt-1.3b", "openai/whisper-medium", "internlm/internlm2-7b")
    assert [told[model] for model in nominal] == [None] * 3
