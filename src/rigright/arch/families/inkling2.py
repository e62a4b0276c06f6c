"""Inkling 2: an eye of flat patches with layer scale, four patches merged without biases."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.merging import grid_patches
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower
from rigright.arch.stack import Stack, conv, layer, linear, table, vector

MATCHES = ("inkling2", "Inkling2ForConditionalGeneration")


def read(config: Config, name: str) -> Arch:
    """Read an Inkling 2 config."""
    config = full(config, "inkling2")
    arch = language(config, name, kind="inkling2_text")
    return join(config, arch, towers=(_eye(part(config, "vision_config"), arch.trunk.hidden),))


def _eye(eye: Config, said: int) -> Tower:
    hidden, tok = eye.size("hidden_size"), grid_patches(eye)
    area, wide = eye.size("spatial_merge_size") ** 2, eye.size("projection_hidden_dim")
    biased = eye.flag("projector_bias", default=False)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=eye.maybe("intermediate_size") or int(hidden * eye.number("mlp_ratio")),
        scales=2,
        tok=tok + 1,
    )
    pixels = eye.size("num_channels") * eye.size("patch_size") ** 2
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(layer(stack),) * eye.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=tok),
            *vector(2, hidden),  # the class token and its place
            *table(eye.size("posemb_grid_size") ** 2, hidden),
            *norm(hidden, bias=True),
            *linear("project", (wide, hidden * area), bias=biased, sites=tok // area),
            *linear("project", (said, wide), bias=biased, sites=tok // area),
        ),
        sample_tok=tok + 1,
    )
