"""How image generators hang together: maps that meet again, texts that are looked at, latents and images."""

import json

import pytest

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.record import Mix
from rigright.base.errors import DataError

UNET = {
    "_class_name": "UNet2DConditionModel",
    "block_out_channels": [32, 64],
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"],
    "layers_per_block": 1,
    "attention_head_dim": 4,
    "cross_attention_dim": 24,
    "sample_size": 16,
}
VAE = {
    "_class_name": "AutoencoderKL",
    "block_out_channels": [32, 64],
    "down_block_types": ["DownEncoderBlock2D"] * 2,
    "up_block_types": ["UpDecoderBlock2D"] * 2,
    "latent_channels": 4,
    "sample_size": 64,
}
FLUX = {
    "_class_name": "FluxTransformer2DModel",
    "num_layers": 2,
    "num_single_layers": 3,
    "num_attention_heads": 3,
    "attention_head_dim": 16,
    "joint_attention_dim": 20,
    "pooled_projection_dim": 10,
}


def weights(arch, role):
    return [w for tower in arch.towers for layer in tower.layers for w in layer.weights if w.role == role]


def test_a_unet_hands_every_map_of_the_way_down_to_the_way_up():
    arch = read_config(UNET, "made")
    down = [32, 32, 32, 64]  # stem, a step, half the size, a step
    fed = [w.shape[1] for w in weights(arch, "conv") if w.shape[2:] == (1, 1) and w.shape[0] != w.shape[1]]
    assert fed[-4:] == [64 + down[3], 64 + down[2], 64 + down[1], 32 + down[0]]


def test_a_unet_gives_back_the_latent_it_was_given():
    layers = read_config(UNET, "made").trunk.layers
    assert layers[-1].map_elems[-1] == 4 * 16 * 16


def test_text_is_looked_at_from_its_own_places():
    arch = read_config(UNET, "made")
    assert {w.sites for w in weights(arch, "cross.k")} == {77}
    assert {w.shape[1] for w in weights(arch, "cross.v")} == {24}
    crossing = [layer for layer in arch.trunk.layers if layer.cross is not None]
    assert {layer.cross.kind for layer in crossing} == {Mix.CROSS}
    assert len(crossing) == 1 + 1 + 2  # down, middle, two on the way up


def test_ten_blocks_of_attention_are_ten_layers():
    one, ten = (
        read_config({**UNET, "transformer_layers_per_block": [blocks, 1]}, "made") for blocks in (1, 10)
    )
    assert len(ten.trunk.layers) - len(one.trunk.layers) == 3 * 9
    block = sum(count.elems(w) for w in next(layer for layer in one.trunk.layers if layer.cross).weights)
    assert count.params(ten) - count.params(one) == 3 * 9 * block


def test_heads_by_number_or_by_width():
    by_number = read_config({**UNET, "num_attention_heads": 8}, "made")
    heads = {layer.mixer.heads for layer in by_number.trunk.layers if layer.mixer}
    assert heads == {8}
    assert count.params(by_number) == count.params(read_config(UNET, "made"))


def test_sdxl_knows_the_size_it_paints():
    added = {"addition_embed_type": "text_time", "projection_class_embeddings_input_dim": 100}
    more = count.params(read_config({**UNET, **added}, "made")) - count.params(read_config(UNET, "made"))
    assert more == (100 * 128 + 128) + (128 * 128 + 128)


@pytest.mark.parametrize("key", ["down_block_types", "up_block_types"])
def test_a_block_nobody_knows_is_named(key):
    with pytest.raises(DataError, match="StrangeBlock2D"):
        read_config({**UNET, key: ["StrangeBlock2D"] * 2}, "made")


def test_an_autoencoder_comes_back_to_the_image():
    down, back = read_config(VAE, "made").towers
    assert down.layers[-1].map_elems[-1] == 2 * 4 * 32 * 32  # mean and variance of the latent
    assert back.layers[-1].map_elems[-1] == 3 * 64 * 64


def test_an_autoencoder_of_sixteen_channels_without_convolutions_around_its_latent():
    plain = read_config(VAE, "made")
    flux = read_config(
        {**VAE, "latent_channels": 16, "use_quant_conv": False, "use_post_quant_conv": False}, "made"
    )
    around = (8 * 8 + 8) + (4 * 4 + 4)
    wider = 2 * 12 * 64 * 9 + 2 * 12 + 12 * 64 * 9
    assert count.params(flux) - count.params(plain) == wider - around


def test_an_autoencoder_looks_at_itself_in_the_middle_only():
    for tower in read_config(VAE, "made").towers:
        looking = [layer for layer in tower.layers if layer.mixer is not None]
        assert len(looking) == 1
        assert (looking[0].mixer.heads, looking[0].mixer.key_dim) == (1, 64)


def test_flux_has_two_streams_and_then_one():
    layers = read_config(FLUX, "made").trunk.layers
    roles = [{w.role for w in layer.weights} for layer in layers]
    assert ["attn.add_q" in found for found in roles] == [True, True, False, False, False]


def test_image_and_text_attend_to_each_other():
    arch = read_config(FLUX, "made")
    tok = arch.trunk.sample_tok + 512
    pairs = 5 * 4 * 48 * tok**2
    matrices = count.flops_per_tok(arch.trunk)
    assert count.flops_per_sample(arch) == matrices + pairs


def test_a_larger_latent_is_more_tokens_and_no_more_parameters():
    small, large = (read_config({**FLUX, "sample_size": side}, "made") for side in (64, 128))
    assert (small.trunk.sample_tok, large.trunk.sample_tok) == (1024, 4096)
    assert count.params(small) == count.params(large)


def test_guidance_is_one_more_embedding():
    more = count.params(read_config({**FLUX, "guidance_embeds": True}, "made"))
    assert more - count.params(read_config(FLUX, "made")) == (256 * 48 + 48) + (48 * 48 + 48)


def test_the_last_layer_of_sd3_leaves_the_text():
    sd3 = {
        "_class_name": "SD3Transformer2DModel",
        "num_layers": 3,
        "num_attention_heads": 4,
        "attention_head_dim": 16,
    }
    layers = read_config(sd3, "made").trunk.layers
    assert ["attn.add_o" in {w.role for w in layer.weights} for layer in layers] == [True, True, False]


def test_every_generator_says_it_paints():
    for config in (UNET, VAE, FLUX):
        assert read_config(config, "made").task == "image"


def test_a_pipeline_part_is_known_by_its_class_name_alone(shared):
    for path in sorted((shared / "models" / "configs").glob("*#*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        raw.pop("model_type", None)
        arch = read_config(raw, path.stem)
        assert arch.task == "image"
        assert not arch.warnings
