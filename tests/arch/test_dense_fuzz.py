"""Whatever a config holds, the reader gives an Arch or one clear sentence: no traceback, no hang."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from totals_explained import explain_total

from rigright.arch import cache, count, families
from rigright.arch.config import MAX_LAYERS
from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.base.errors import RigError
from spoken import values

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 101,
    "max_position_embeddings": 128,
    "sliding_window": 16,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "layer_types": ["full_attention", "sliding_attention", "full_attention"],
    "quantization_config": {"quant_method": "gptq", "bits": 4},
}
MORE_KEYS = (
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "kv_lora_rank",
    "q_lora_rank",
    "head_dim",
    "text_config",
    "vision_config",
    "block_configs",
    "intermediate_size",
    "num_kv_shared_layers",
    "hidden_size_per_layer_input",
    "num_nextn_predict_layers",
    "sliding_window_pattern",
    "attn_config",
)
TYPES = [None, *families.table()]

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 200),
    st.sampled_from([10**12, -(10**30), 2**63, 0, 1e308, float("nan"), float("inf"), 0.5, 1e12]),
    st.text(max_size=8),
    st.lists(st.one_of(st.integers(-1, 99), st.text(max_size=3), st.none()), max_size=5),
    st.dictionaries(
        st.sampled_from([*LLAMA, "attention", "ffn", "weights"]), st.integers(-1, 99), max_size=4
    ),
)


def read_or_refuse(raw: object) -> Arch | RigError:
    try:
        arch = read_config(raw, "fuzzed")  # type: ignore[arg-type]
        count.params(arch), count.active_params(arch), count.embedding_params(arch)
        cache.kv_bytes_per_token(arch), cache.kv_constant_bytes(arch)
        explain_total(arch, 12345)
    except RigError as refusal:
        return refusal
    return arch


@given(
    kind=st.sampled_from(TYPES),
    changes=st.dictionaries(st.sampled_from([*LLAMA, *MORE_KEYS]), odd, max_size=5),
    dropped=st.sets(st.sampled_from(sorted(LLAMA)), max_size=3),
)
@example(kind="llama", changes={"num_hidden_layers": 10**12}, dropped=set())
@example(kind="llama", changes={"num_attention_heads": 0}, dropped=set())
@example(kind="llama", changes={"hidden_size": float("nan")}, dropped=set())
@example(kind=None, changes={}, dropped=set(LLAMA))
def test_a_mutated_config_gives_an_arch_or_a_sentence(kind, changes, dropped):
    raw = {**LLAMA, "model_type": kind, **changes}
    arch = read_or_refuse({key: value for key, value in raw.items() if key not in dropped})
    if isinstance(arch, RigError):
        assert 0 < len(str(arch)) < 500
    else:
        assert count.params(arch) > 0


@given(
    st.recursive(
        odd,
        lambda inner: st.dictionaries(st.sampled_from([*LLAMA, *MORE_KEYS]), inner, max_size=6),
        max_leaves=12,
    )
)
def test_anything_at_all_is_refused_or_read(raw):
    read_or_refuse(raw)


@pytest.mark.parametrize("raw", [None, [], "llama", 3, {}, {1: 2}])
def test_what_is_no_config_is_refused(raw):
    assert isinstance(read_or_refuse(raw), RigError)


def test_a_config_nested_a_thousand_deep_ends_quickly():
    raw: dict[str, object] = {"hidden_size": 8}
    for _ in range(20_000):
        raw = {"text_config": raw}
    assert isinstance(read_or_refuse(raw), RigError)


def test_a_kilobyte_cannot_ask_for_a_gigabyte():
    raw = {**LLAMA, "num_hidden_layers": MAX_LAYERS, "layer_types": None}
    tracemalloc.start()
    try:
        assert isinstance(read_or_refuse(raw), Arch)
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"num_attention_heads": 7, "num_key_value_heads": 7}, {"heads": "7", "hidden": "64"}),
        ({"num_key_value_heads": 3}, {"heads": "4", "kv_heads": "3"}),
        ({"hidden_size": -64}, {"key": "hidden_size", "value": "-64"}),
        ({"num_hidden_layers": 10**12}, {"value": "1000000000000"}),
        ({"num_hidden_layers": 0, "vocab_size": 0}, {"value": "0"}),
        (
            {"hidden_size": 10**9, "intermediate_size": 10**9, "num_attention_heads": 1},
            {"name": "nonsense", "params": "27000000209000000000"},
        ),
        ({"hidden_size": "wide"}, {"value": "'wide'"}),
        ({"hidden_size": float("nan")}, {"value": "nan"}),
    ],
)
def test_nonsense_is_named(change, named):
    with pytest.raises(RigError) as refusal:
        read_config({**LLAMA, **change}, "nonsense")
    assert values(refusal.value.sentence).items() >= named.items()
