"""ERNIE 4.5 VL: an eye, a resampler over space and time, a decoder with experts for words and for images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.merging import grid_patches
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Cut, Layer, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear

MATCHES = (
    "ernie4_5_vl_moe",
    "Ernie4_5_VLMoeForConditionalGeneration",
    "ernie4_5_moe_vl",
    "Ernie4_5_VLMoeForCausalLM",
)
_WIDTHS = (1536, 512)  # of an expert for words and of one for images, where not said


def read(config: Config, name: str) -> Arch:
    """Read an ERNIE 4.5 VL config."""
    config = full(config.over(model_type="ernie4_5_vl_moe"), "ernie4_5_vl_moe")
    text = part(config, "text_config", kind="ernie4_5_vl_moe_text")
    told = text.raw.get("moe_intermediate_size")
    widths = told if isinstance(told, list | tuple) and len(told) == 2 else _WIDTHS
    # the first layer with experts
    kinds = text.items("mlp_layer_types", default=["dense", "sparse"])
    said: dict[str, Any] = {
        "moe_intermediate_size": widths[0],
        "moe_layer_start_index": next(
            (index for index, kind in enumerate(kinds) if kind != "dense"), len(kinds)
        ),
    }
    arch = language(config, name, kind="ernie4_5_vl_moe_text", **said, model_type="ernie4_5_moe")
    trunk = arch.trunk
    layers = tuple(_with_image_experts(one, trunk.hidden, width=int(widths[1])) for one in trunk.layers)
    eye = part(config, "vision_config", kind="ernie4_5_vl_moe_vision")
    hidden, tok = eye.size("hidden_size"), grid_patches(eye)
    merge, frames = eye.size("spatial_merge_size"), eye.size("temporal_merge_size")
    wide, sites = hidden * merge**2, tok // merge**2
    stack = Stack(hidden=hidden, heads=eye.size("num_heads"), width=eye.size("intermediate_size"), tok=tok)
    pixels = eye.size("in_channels") * eye.size("patch_size") ** 2
    seen = join(
        config,
        arch,
        towers=(
            Tower(
                name="vision",
                hidden=hidden,
                layers=(layer(stack),) * eye.layers("depth"),
                outer=(
                    *conv("patch", (hidden, pixels), bias=False, sites=tok),
                    *norm(hidden, bias=True),
                    *linear("project", (wide, wide), sites=sites) * 2,
                    *linear("project", (wide, wide * frames), sites=sites),
                    *linear("project", (wide, wide), sites=sites),
                    *norm(wide, bias=True) * 2,
                    *linear("project", (trunk.hidden, wide), sites=sites),
                    *norm(trunk.hidden),
                ),
                sample_tok=tok,
            ),
        ),
    )
    towers = tuple(replace(tower, layers=layers) if tower is trunk else tower for tower in seen.towers)
    return replace(seen, towers=towers)


def _with_image_experts(one: Layer, hidden: int, *, width: int) -> Layer:
    """As many experts again, narrower, that only tokens of images go to."""
    if one.ffn is None or not one.ffn.experts:
        return one
    many = one.ffn.experts
    shapes = (
        ("expert.gate", (width, hidden)),
        ("expert.up", (width, hidden)),
        ("expert.down", (hidden, width)),
    )
    experts = tuple(
        Weight(role=role, shape=shape, cut=Cut.EXPERT, copies=many, used=0) for role, shape in shapes
    )
    router = (Weight(role="router", shape=(many, hidden)), Weight(role="router.bias", shape=(many,)))
    return replace(one, weights=(*one.weights, *router, *experts))
