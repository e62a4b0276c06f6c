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
