"""Latent attention, its indexers and its compressed caches."""

from __future__ import annotations

import json

import pytest

from rigright.arch.cache import cached, kv_bytes_per_token, kv_constant_bytes
from rigright.arch.read import read_config
from rigright.arch.record import Cut, Mix

V3 = {
    "model_type": "deepseek_v3",
    "vocab_size": 101,
    "hidden_size": 64,
    "intermediate_size": 96,
    "moe_intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "q_lora_rank": 24,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
}
INDEX = {"index_n_heads": 2, "index_head_dim": 16, "index_topk": 64}


@pytest.mark.parametrize("heads", [2, 4, 16])
def test_the_cache_knows_nothing_of_heads(heads):
    arch = read_config({**V3, "num_attention_heads": heads}, "v3")
    assert kv_bytes_per_token(arch) == 3 * (32 + 8) * 2
    assert kv_constant_bytes(arch) == 0


def test_queries_may_be_whole():
    roles = {
        weight.role for weight in read_config({**V3, "q_lora_rank": None}, "lite").trunk.layers[0].weights
    }
    assert "attn.q" in roles
    assert not roles & {"attn.q_a", "attn.q_b"}


def test_down_projections_stay_whole_on_every_rank():
    cuts = {weight.role: weight.cut for weight in read_config(V3, "v3").trunk.layers[0].weights}
    assert cuts["attn.q_a"] == cuts["attn.kv_a"] == Cut.WHOLE
    assert cuts["attn.q_b"] == cuts["attn.kv_b"] == Cut.OUT
    assert cuts["attn.o"] == Cut.IN


def test_an_indexer_adds_its_keys_to_the_cache():
    arch = read_config({**V3, **INDEX, "model_type": "deepseek_v32"}, "v32")
    assert kv_bytes_per_token(arch) == 3 * (32 + 8 + 16) * 2
    assert {mixer.topk_tok for mixer in cached(arch)} == {64}


def test_layers_that_borrow_an_indexer_keep_no_keys_for_it():
    told = {"indexer_types": ["full", "shared", "shared"]}
    arch = read_config({**V3, **INDEX, **told, "model_type": "glm_moe_dsa"}, "dsa")
    assert [mixer.index_dim for mixer in cached(arch)] == [16, 0, 0]
    assert kv_bytes_per_token(arch) == (3 * 40 + 16) * 2
    pattern = read_config({**V3, **INDEX, "index_topk_pattern": "FSS", "model_type": "glm_moe_dsa"}, "dsa")
    assert pattern.trunk.layers == arch.trunk.layers


def test_compressed_caches_grow_by_a_fraction_and_keep_a_window(shared):
    path = shared / "models" / "configs" / "deepseek-ai__DeepSeek-V4-Flash.json"
    arch = read_config(json.loads(path.read_text(encoding="utf-8")), "v4")
    kinds = [(mixer.kind, mixer.every_tok) for mixer in cached(arch)]
    assert kinds[:4] == [(Mix.WINDOW, 1), (Mix.WINDOW, 1), (Mix.LATENT, 4), (Mix.LATENT, 128)]
    quarter, hundredth = kinds.count((Mix.LATENT, 4)), kinds.count((Mix.LATENT, 128))
    assert kv_bytes_per_token(arch) == quarter * (512 + 128) / 4 * 2 + hundredth * 512 / 128 * 2
    assert all(mixer.window_tok == 128 for mixer in cached(arch))


def test_published_caches(shared):
    def per_token(model):
        text = (shared / "models" / "configs" / f"{model}.json").read_text(encoding="utf-8")
        return kv_bytes_per_token(read_config(json.loads(text), model))

    assert per_token("deepseek-ai__DeepSeek-V3") == 70_272
    assert per_token("deepseek-ai__DeepSeek-V3.2") == 85_888
