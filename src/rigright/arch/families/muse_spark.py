"""Muse Spark: an eye over pairs of frames, an ear of four stages of convolutions, a sparse decoder."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.conv import depths
from rigright.arch.defaults import full, part
from rigright.arch.merging import grid_patches
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, at, conv, layer, linear, table

MATCHES = ("muse_spark", "MuseSparkForConditionalGeneration")
_SAMPLES = 480_000  # of 30 seconds at 16 kHz


def read(config: Config, name: str) -> Arch:
    """Read a Muse Spark config."""
    config = full(config, "muse_spark")
    arch = language(config, name, kind="muse_spark_text")
    said, wide = arch.trunk.hidden, config.size("projector_hidden_size")
    eye, ear = part(config, "vision_config"), part(config, "audio_config")
    bridge = (
        *linear("project", (wide, config.size("out_hidden_size")), bias=False),
        *linear("project", (wide, wide), bias=False),
        *linear("project", (said, wide), bias=False),
    )
    return join(config, arch, towers=(_eye(eye, bridge), _ear(ear)))


def _eye(eye: Config, bridge: tuple[Weight, ...]) -> Tower:
    hidden, tok = eye.size("hidden_size"), grid_patches(eye)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=eye.size("intermediate_size"),
        tok=tok,
    )
    pixels = 3 * eye.size("patch_temporal") * eye.size("patch_size") ** 2
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(layer(stack),) * eye.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=tok),
            *table(eye.size("max_position_embeddings"), hidden),
            *norm(hidden, bias=True) * 2,
            *at(bridge, max(tok // eye.size("merge_size") ** 2, 1)),
        ),
        sample_tok=tok,
    )


def _ear(ear: Config) -> Tower:
    """Each stage folds some frames into one and mixes near ones, a channel at a time."""
    frames, inputs = _SAMPLES, 1
    layers: list[Layer] = []
    steps = ear.aligned(
        patch_sizes=ear.sizes("patch_sizes"),
        hidden_sizes=ear.sizes("hidden_sizes"),
        depths=depths(ear, "depths"),
    )
    for folded, width, depth in steps:
        frames = max(frames // folded, 1)
        entry = (*linear("patch", (width, inputs * folded), sites=frames), *norm(width))
        wide = int(width * ear.number("mlp_ratio"))
        weights = (
            *conv("mixer.conv", (width, 1, ear.size("conv_kernel_size")), sites=frames),
            *norm(width),
            *linear("ffn.up", (wide, width), sites=frames),
            *linear("ffn.down", (width, wide), sites=frames),
        )
        layers += [Layer(weights=entry), *(Layer(weights=weights),) * depth]
        inputs = width
    handed = ear.size("out_hidden_size")
    outer = (*norm(inputs), *linear("project", (handed, inputs), sites=frames), *norm(handed))
    return Tower(name="audio", hidden=inputs, layers=tuple(layers), outer=outer, sample_tok=frames)
