"""SegFormer: four stages of attention over maps whose keys are thinned out, and a light decoder."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.conv import depths
from rigright.arch.defaults import full
from rigright.arch.heads import labels
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear
from rigright.arch.vision import sides

MATCHES = (
    "segformer",
    "SegformerForImageClassification",
    "SegformerForSemanticSegmentation",
    "SegformerModel",
)


def read(config: Config, name: str) -> Arch:
    """Read a SegFormer config."""
    config = full(config, "segformer")
    high, wide = sides(config.raw.get("image_size"), 512)
    widths, strides = config.sizes("hidden_sizes"), config.sizes("strides")
    inputs = config.size("num_channels")
    layers: list[Layer] = []
    outer: list[Weight] = []
    finest = 0
    for index, depth in enumerate(depths(config, "depths")):
        width, kernel = widths[index], config.sizes("patch_sizes")[index]
        high, wide = -(-high // strides[index]), -(-wide // strides[index])
        tok = high * wide
        finest = finest or tok
        outer += (
            *conv("patch", (width, inputs, kernel, kernel), sites=tok),
            *norm(width, bias=True) * 2,
        )
        layers += [_layer(config, index, width=width, tok=tok)] * depth
        inputs = width
    tower = Tower(
        name="vision",
        hidden=widths[-1],
        layers=tuple(layers),
        outer=(*outer, *_head(config, widths, tok=finest)),
        sample_tok=high * wide,
    )
    return Arch(name=name, family="segformer", task="vision", towers=(tower,), dtype="fp32")


def _layer(config: Config, index: int, *, width: int, tok: int) -> Layer:
    """Attention to a thinned-out map, a feed-forward with a convolution a channel inside."""
    ratio, wide = config.sizes("sr_ratios")[index], int(width * config.sizes("mlp_ratios")[index])
    own = layer(Stack(hidden=width, heads=config.sizes("num_attention_heads")[index], width=wide, tok=tok))
    few = max(tok // ratio**2, 1)
    thinned = tuple(
        replace(weight, sites=few) if weight.role.startswith(("attn.k", "attn.v")) else weight
        for weight in own.weights
    )
    thins = (*conv("attn.conv", (width, width, ratio, ratio), sites=few), *norm(width, bias=True))
    mixes = conv("ffn.conv", (wide, 1, 3, 3), sites=tok)
    return replace(own, weights=(*thinned, *(thins if ratio > 1 else ()), *mixes))


def _head(config: Config, widths: list[int], *, tok: int) -> tuple[Weight, ...]:
    asked = str(config.items("architectures", default=["ForImageClassification"])[0])
    if asked.endswith("ForImageClassification"):
        return linear("head", (labels(config), widths[-1]))
    if not asked.endswith("ForSemanticSegmentation"):
        return ()
    shared = config.size("decoder_hidden_size")
    each = tuple(weight for width in widths for weight in linear("project", (shared, width), sites=tok))
    return (
        *each,
        *linear("project", (shared, shared * len(widths)), bias=False, sites=tok),
        *norm(shared, bias=True),
        *linear("head", (labels(config), shared), sites=tok),
    )
