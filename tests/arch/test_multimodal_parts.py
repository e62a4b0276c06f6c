"""A model that sees is its language model plus towers; the language part is the trunk."""

import json

import pytest

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.record import Mix

TEXT = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "vocab_size": 500,
    "model_type": "llama",
}
EYE = {
    "hidden_size": 48,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "image_size": 64,
    "patch_size": 8,
    "model_type": "clip_vision_model",
}


def llava(**over):
    return read_config({"model_type": "llava", "text_config": TEXT, "vision_config": EYE, **over}, "made")


def test_the_trunk_is_the_language_model_alone():
    alone = read_config(TEXT, "made")
    seeing = llava()
    assert seeing.trunk.layers == alone.trunk.layers
    assert [tower.name for tower in seeing.towers] == ["text", "vision"]
    assert count.embedding_params(seeing) == count.embedding_params(alone)


def test_towers_and_projector_add_up():
    alone, seeing = read_config(TEXT, "made"), llava()
    eye = read_config({**EYE, "architectures": ["CLIPVisionModel"]}, "made")
    projector = 48 * 64 + 64 + 64 * 64 + 64
    assert count.params(seeing) == count.params(alone) + count.params(eye) + projector


def test_a_vision_tower_keeps_no_cache():
    eye = llava().towers[1]
    assert {layer.mixer.kind for layer in eye.layers} == {Mix.BOTH}
    assert eye.sample_tok == 65


def test_an_eye_of_any_size_takes_the_image_it_is_given(shared):
    path = shared / "models" / "configs" / "Qwen__Qwen2-VL-7B-Instruct.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    tokens = [read_config({**raw, "image_size": side}, "made").towers[1].sample_tok for side in (448, 896)]
    assert tokens == [1024, 4096]
    params = {count.params(read_config({**raw, "image_size": side}, "made")) for side in (448, 896)}
    assert params == {8_291_375_616}


def test_llama_vision_layers_that_look_at_the_image_have_no_attention_to_themselves(shared):
    path = shared / "models" / "configs" / "meta-llama__Llama-3.2-11B-Vision-Instruct.json"
    trunk = read_config(json.loads(path.read_text(encoding="utf-8")), "made").trunk
    looking = [index for index, layer in enumerate(trunk.layers) if layer.mixer is None]
    assert looking == [3, 8, 13, 18, 23, 28, 33, 38]
    assert all(trunk.layers[index].cross.kind == Mix.CROSS for index in looking)


@pytest.mark.parametrize("key", ["text_config", "vision_config"])
def test_a_missing_part_is_the_one_its_class_makes(key):
    raw = {"model_type": "llava", "text_config": TEXT, "vision_config": EYE}
    del raw[key]
    assert count.params(read_config(raw, "made")) > count.params(llava())


def test_a_kimi_of_another_name_ties_only_where_its_language_part_says_so():
    raw = {
        "model_type": "kimi_vl",
        "text_config": TEXT,
        "vision_config": {"hidden_size": 48, "num_attention_heads": 4},
    }
    assert not read_config(raw, "made").tied
    tied = {**raw, "text_config": {**TEXT, "tie_word_embeddings": True}}
    assert read_config(tied, "made").tied


def test_ties_are_what_the_whole_says():
    assert llava(tie_word_embeddings=True).tied
    assert not llava().tied
    both = llava(text_config={**TEXT, "tie_word_embeddings": True})
    assert not both.tied


def test_older_files_tell_the_language_part_beside_the_eye():
    flat = {
        "model_type": "qwen2_vl",
        **{key: value for key, value in TEXT.items() if key != "model_type"},
        "vision_config": {"depth": 2, "embed_dim": 48, "num_heads": 4, "hidden_size": 64, "patch_size": 8},
    }
    arch = read_config(flat, "made")
    assert (arch.trunk.hidden, len(arch.trunk.layers), arch.towers[1].hidden) == (64, 3, 48)


def test_an_internvl_of_the_older_kind_counts_like_todays():
    eye = {
        **EYE,
        "image_size": 64,
        "qkv_bias": True,
        "qk_normalization": False,
        "model_type": "intern_vit_6b",
    }
    text = {**TEXT, "model_type": "qwen2"}
    older = read_config({"model_type": "internvl_chat", "llm_config": text, "vision_config": eye}, "made")
    new_eye = {**EYE, "attention_bias": True, "model_type": "internvl_vision"}
    today = read_config({"model_type": "internvl", "text_config": text, "vision_config": new_eye}, "made")
    assert count.params(older) == count.params(today) - 500 * 64 * (not today.tied) + 500 * 64 * (
        not older.tied
    )


def test_what_speaks_is_told_apart():
    thinker = {
        "text_config": {
            **TEXT,
            "model_type": "qwen3_omni_moe_text",
            "num_experts": 4,
            "num_experts_per_tok": 2,
        }
    }
    silent = read_config({"model_type": "qwen3_omni_moe", "thinker_config": thinker}, "made")
    speaking = {
        "model_type": "qwen3_omni_moe",
        "thinker_config": thinker,
        "talker_config": {"hidden_size": 8},
    }
    assert [tower.name for tower in silent.towers] == ["text", "vision", "audio"]
    assert len(read_config(speaking, "made").warnings) == 1
