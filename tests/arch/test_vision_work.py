"""FLOPs and kept maps against torch: FlopCounterMode on the meta device, saved tensors on the CPU.

FLOPs were counted by `torch.utils.flop_counter.FlopCounterMode` (torch 2.13.0) on models of transformers
5.23.0 and diffusers 0.42.1, one sample. Kept bytes: the sum over distinct storages that autograd saved in a
forward pass in fp32 training mode (`torch.autograd.graph.saved_tensors_hooks`), parameters and buffers left
out, dropout off.
"""

import json

import pytest

from rigright.arch import count
from rigright.arch.read import read_config

IMAGE = {"num_labels": 1000}
CONVNEXT = {"model_type": "convnext", "architectures": ["ConvNextForImageClassification"], **IMAGE}
SWIN = {"model_type": "swin", "architectures": ["SwinForImageClassification"], **IMAGE}
MOBILE = {"model_type": "mobilenet_v2", "architectures": ["MobileNetV2ForImageClassification"], **IMAGE}
EFFICIENT = {
    "model_type": "efficientnet",
    "architectures": ["EfficientNetForImageClassification"],
    "width_coefficient": 1.0,
    "depth_coefficient": 1.0,
    "hidden_dim": 1280,
    "image_size": 224,
    **IMAGE,
}
SD15 = "stable-diffusion-v1-5/stable-diffusion-v1-5#unet"
SD15_VAE = "stable-diffusion-v1-5/stable-diffusion-v1-5#vae"


def model(shared, told, **over):
    if isinstance(told, dict):
        return read_config({**told, **over}, "made")
    path = shared / "models" / "configs" / (told.replace("/", "__", 1) + ".json")
    return read_config({**json.loads(path.read_text(encoding="utf-8")), **over}, told)


@pytest.mark.parametrize(
    ("told", "over", "tok", "flops"),
    [
        ("microsoft/resnet-50", {}, 1, 8_178_368_512),
        ("google/vit-base-patch16-224", {}, 1, 35_127_656_448),
        (CONVNEXT, {}, 1, 8_911_062_528),
        (SWIN, {}, 1, 8_981_133_312),
        (EFFICIENT, {}, 1, 771_629_504),
        (MOBILE, {}, 1, 601_548_544),
        ("google-bert/bert-base-uncased", {}, 128, 28_499_116_032),
        (SD15, {}, 1, 803_273_441_280),
        ("stabilityai/stable-diffusion-xl-base-1.0#unet", {"sample_size": 128}, 1, 6_761_236_398_080),
        (SD15_VAE, {"sample_size": 512}, 1, 3_631_177_400_320),
        ("stabilityai/stable-diffusion-3-medium#transformer", {}, 1, 8_904_337_539_072),
        ("black-forest-labs/FLUX.1-schnell#transformer", {}, 1, 74_384_632_971_264),
    ],
)
def test_flops_equal_those_torch_counts(shared, told, over, tok, flops):
    assert count.flops_per_sample(model(shared, told, **over), tok=tok) == flops


def test_whisper_encoder_flops(shared):
    encoder = model(shared, "openai/whisper-small").towers[0]
    assert count.tower_flops(encoder) == 344_162_304_000


@pytest.mark.parametrize(
    ("told", "kept_bytes", "within"),
    [
        ("microsoft/resnet-50", 86_121_984, 0.01),
        (CONVNEXT, 109_155_808, 0.01),
        ("google/vit-base-patch16-224", 118_160_680, 0.03),
        (SD15, 1_871_072_768, 0.01),
    ],
)
def test_kept_maps_are_what_autograd_saves(shared, told, kept_bytes, within):
    tower = model(shared, told).towers[-1]
    assert 4 * count.kept_elems(tower) == pytest.approx(kept_bytes, rel=within)


@pytest.mark.parametrize("told", ["microsoft/resnet-50", CONVNEXT])
def test_twice_the_side_is_four_times_the_work_of_a_convolutional_network(shared, told):
    small, large = (model(shared, told, image_size=side) for side in (224, 448))
    ratio = count.flops_per_sample(large) / count.flops_per_sample(small)
    assert ratio == pytest.approx(4, rel=0.01)
    assert count.kept_elems(large.towers[-1]) == pytest.approx(
        4 * count.kept_elems(small.towers[-1]), rel=0.01
    )
    assert count.peak_map_elems(large.towers[-1]) == pytest.approx(
        4 * count.peak_map_elems(small.towers[-1]), rel=0.01
    )


def test_twice_the_side_is_more_than_four_times_the_work_of_attention(shared):
    small, large = (model(shared, "google/vit-base-patch16-224", image_size=side) for side in (224, 448))
    assert count.flops_per_sample(large) > 4 * count.flops_per_sample(small)


def test_an_image_model_never_holds_more_at_once_than_it_writes(shared):
    for told in ("microsoft/resnet-50", CONVNEXT, SD15, SD15_VAE):
        for tower in model(shared, told).towers:
            written = sum(sum(layer.map_elems) for layer in tower.layers)
            assert 0 < count.peak_map_elems(tower) < written
            assert 0 < count.kept_elems(tower) <= written + 10**6
