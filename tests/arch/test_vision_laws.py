"""Laws of vision transformers, for any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.vision import sides
from rigright.base.errors import DataError
from spoken import values


def vit(**more):
    sizes = {
        "hidden_size": 64,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "image_size": 64,
        "patch_size": 16,
    }
    return read_config({"model_type": "vit", "architectures": ["ViTModel"], **sizes, **more}, "made")


@given(st.integers(1, 12), st.integers(1, 12))
def test_each_layer_adds_the_same(few, more):
    each = count.params(vit(num_hidden_layers=1)) - count.params(vit(num_hidden_layers=0))
    grown = count.params(vit(num_hidden_layers=few + more)) - count.params(vit(num_hidden_layers=few))
    assert grown == more * each


@given(st.integers(1, 6), st.sampled_from([32, 64, 96]), st.integers(2, 20))
def test_work_by_the_formula_everyone_knows(layers, hidden, grid):
    arch = vit(
        num_hidden_layers=layers, hidden_size=hidden, image_size=16 * grid, intermediate_size=2 * hidden
    )
    tok = grid * grid + 1
    matrices = 2 * tok * (4 * hidden**2 + 2 * hidden * 2 * hidden)
    pairs = 4 * tok**2 * hidden
    patching = 2 * grid * grid * hidden * 3 * 16 * 16
    pooler = 2 * hidden**2
    assert count.flops_per_sample(arch) == layers * (matrices + pairs) + patching + pooler


@given(st.integers(1, 16))
def test_tokens_are_patches_and_a_class(grid):
    assert vit(image_size=16 * grid).towers[0].sample_tok == grid**2 + 1


def test_registers_and_a_distillation_token_stand_before_the_patches():
    base = {
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 1,
        "image_size": 64,
        "patch_size": 16,
    }
    told = {"vit": 17, "deit": 18, "ijepa": 16, "dinov2": 17}
    for kind, tok in told.items():
        assert read_config({"model_type": kind, **base}, "made").towers[0].sample_tok == tok
    registers = read_config({"model_type": "dinov2_with_registers", **base, "num_register_tokens": 4}, "made")
    assert registers.towers[0].sample_tok == 21


def test_a_gated_dino_is_two_thirds_as_wide_in_whole_eights():
    base = {
        "model_type": "dinov2",
        "hidden_size": 48,
        "num_attention_heads": 4,
        "mlp_ratio": 4,
        "num_hidden_layers": 1,
    }
    plain, gated = (read_config({**base, "use_swiglu_ffn": told}, "made") for told in (False, True))
    assert plain.trunk.layers[0].ffn.width == 192
    assert (gated.trunk.layers[0].ffn.width, gated.trunk.layers[0].ffn.gated) == (128, True)


def test_siglip_without_its_pooling():
    base = {
        "model_type": "siglip_vision_model",
        "hidden_size": 48,
        "intermediate_size": 64,
        "num_attention_heads": 4,
    }
    whole, bare = (read_config({**base, "vision_use_head": told}, "made") for told in (True, False))
    probe, attention, norm = 48, 4 * (48 * 48 + 48), 96
    feed = 2 * 48 * 64 + 64 + 48
    assert count.params(whole) - count.params(bare) == probe + attention + norm + feed


@pytest.mark.parametrize(
    ("told", "both"),
    [
        (224, (224, 224)),
        ([448, 224], (448, 224)),
        ({"height": 32, "width": 64}, (32, 64)),
        (None, (7, 7)),
        ([], (7, 7)),
    ],
)
def test_sizes_in_all_their_spellings(told, both):
    assert sides(told, 7) == both


@pytest.mark.parametrize("told", [0, -3, [1, -1], 10**9])
def test_no_image_is_of_such_a_size(told):
    with pytest.raises(DataError) as refused:
        sides(told, 7)
    assert str(told if not isinstance(told, list) else told[1]) in values(refused.value.sentence)["sides"]


def test_swin_halves_its_map_and_doubles_its_width():
    swin = read_config(
        {"model_type": "swin", "depths": [1, 1, 1], "num_heads": [2, 4, 8], "embed_dim": 32}, "made"
    )
    tower = swin.towers[0]
    places = [
        next(w.sites for w in layer.weights if w.role == "attn.q") for layer in tower.layers if layer.mixer
    ]
    assert places == [56 * 56, 28 * 28, 14 * 14]
    assert tower.hidden == 128
    assert {layer.mixer.window_tok for layer in tower.layers if layer.mixer} == {49}


def test_clip_meets_in_one_width():
    text = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "num_hidden_layers": 1}
    eye = {"hidden_size": 48, "num_attention_heads": 4, "intermediate_size": 64, "num_hidden_layers": 1}
    clip = read_config(
        {"model_type": "clip", "text_config": text, "vision_config": eye, "projection_dim": 24}, "made"
    )
    projections = [w.shape for tower in clip.towers for w in tower.outer if w.role == "project"]
    assert projections == [(24, 32), (24, 48)]
