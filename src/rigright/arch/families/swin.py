"""Swin, first and second form: windows of attention over a map that halves from stage to stage."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.conv import depths
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.arch.vision import sides

MATCHES = ("swin", "swinv2", "SwinForImageClassification", "SwinModel", "Swinv2ForImageClassification")
_POSITION_WIDTH = 512  # inner width of the second form's network for relative positions


def read(config: Config, name: str) -> Arch:
    """Read a Swin config."""
    kind = "swinv2" if config.raw.get("model_type") == "swinv2" else "swin"
    config = full(config, kind)
    image, patch = sides(config.raw.get("image_size"), 224), sides(config.raw.get("patch_size"), 4)
    high, wide = image[0] // patch[0], image[1] // patch[1]
    width = config.size("embed_dim")
    told, heads = depths(config, "depths"), config.sizes("num_heads")
    absolute = config.flag("use_absolute_embeddings", default=False)
    outer = (
        *conv("patch", (width, config.size("num_channels"), *patch), sites=high * wide),
        *norm(width, bias=True),
        *(table(high * wide + (kind == "swinv2"), width) if absolute else ()),
    )
    layers: list[Layer] = []
    for index, (depth, count) in enumerate(config.aligned(depths=told, num_heads=heads)):
        stage = _stage(config, kind, width=width, heads=count, tok=high * wide)
        layers += [stage] * depth
        if index + 1 < len(told):
            high, wide = (high + 1) // 2, (wide + 1) // 2
            # four neighbours become one of twice the width
            tok = high * wide
            normed = norm(4 * width if kind == "swin" else 2 * width, bias=True)
            weights: tuple[Weight, ...] = (
                *linear("project", (2 * width, 4 * width), bias=False, sites=tok),
                *normed,
            )
            maps = (4 * width * tok, 4 * width * tok, 2 * width * tok)
            layers.append(Layer(weights=weights, map_elems=maps, kept_elems=8 * width * tok))
            width *= 2
    asked = task(config, "ForImageClassification")
    head = linear("head", (labels(config), width)) if asked == "ForImageClassification" else ()
    tower = Tower(
        name="vision",
        hidden=width,
        layers=tuple(layers),
        outer=(*outer, *norm(width, bias=True), *head),
        sample_tok=high * wide,
    )
    return Arch(name=name, family=kind, task="vision", towers=(tower,), dtype="fp32")


def _stage(config: Config, kind: str, *, width: int, heads: int, tok: int) -> Layer:
    """One layer of a stage: attention inside windows, with what it learns of relative places."""
    window = config.size("window_size")
    extra = table((2 * window - 1) ** 2, heads)
    biases = "qkvogud" if config.flag("qkv_bias", default=True) else "ogud"
    if kind == "swinv2":
        biases = biases.replace("k", "")
        extra = (
            *vector(heads, 1, 1),
            *linear("other", (_POSITION_WIDTH, 2), sites=1),
            *linear("other", (heads, _POSITION_WIDTH), bias=False, sites=1),
        )
    stack = Stack(
        hidden=width,
        heads=heads,
        width=int(config.number("mlp_ratio") * width),
        biases=biases,
        window_tok=min(window**2, tok),
        tok=tok,
    )
    own = layer(stack)
    return replace(own, weights=(*own.weights, *extra))
