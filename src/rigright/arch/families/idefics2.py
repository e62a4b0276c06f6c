"""Idefics 2: a SigLIP eye, a gated projection, a resampler that leaves a few tokens, a Mistral decoder."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Mix, Tower
from rigright.arch.stack import Stack, layer, linear, vector
from rigright.arch.vision import patches, vit_tower

MATCHES = ("idefics2", "Idefics2ForConditionalGeneration")


def read(config: Config, name: str) -> Arch:
    """Read an Idefics 2 config."""
    config = full(config, "idefics2")
    arch = language(config, name, kind="mistral")
    text = part(config, "text_config", kind="mistral")
    eye = part(config, "vision_config", kind="idefics2_vision")
    hidden, tok = eye.size("hidden_size"), patches(eye)
    said, wide = arch.trunk.hidden, text.size("intermediate_size")
    gated = (
        *linear("project", (wide, hidden), bias=False, sites=tok) * 2,
        *linear("project", (said, wide), bias=False, sites=tok),
    )
    resampler = _resampler(part(config, "perceiver_config", kind="idefics2_perceiver"), tok)
    return join(config, arch, towers=(vit_tower(eye, "idefics2_vision", after=gated), resampler))


def _resampler(config: Config, tok: int) -> Tower:
    """Learned tokens that look at the image and at themselves."""
    hidden, few = config.size("hidden_size"), config.size("resampler_n_latents")
    stack = Stack(
        hidden=hidden,
        heads=config.size("resampler_n_heads"),
        kv_heads=config.size("num_key_value_heads"),
        head_dim=config.size("resampler_head_dim"),
        width=4 * hidden,
        gated=True,
        biases="",
        norms=3,
        norm_bias=False,
        kind=Mix.BOTH,
        tok=few,
    )
    own = layer(stack)
    looks = ("attn.k", "attn.v")
    placed = tuple(
        replace(weight, sites=few + tok) if weight.role.startswith(looks) else weight
        for weight in own.weights
    )
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(replace(own, weights=placed),) * config.layers("resampler_depth"),
        outer=(*vector(few, hidden), *norm(hidden)),
        sample_tok=few,
    )
