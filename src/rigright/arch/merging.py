"""Vision towers that take an image of any size and hand on several patches as one token.

Their configs name no image size: a sample is an image of about SIDE x SIDE pixels unless `image_size`
says otherwise.
"""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.record import Tower, Weight
from rigright.arch.stack import Stack, conv, eye_tower, layer, linear, table
from rigright.arch.vision import sides
from rigright.base.record import replace

SIDE = 1024


def grid_patches(config: Config, *, side: int = SIDE) -> int:
    """Patches of a sample image, whole groups of merged ones."""
    patch, merge = config.size("patch_size"), config.size("spatial_merge_size", "merge_size", default=2)
    high, wide = sides(config.raw.get("sample_size"), side)
    unit = patch * merge
    return max(high // unit, 1) * max(wide // unit, 1) * merge**2


def cubes(config: Config, hidden: int, *, bias: bool, sites: int) -> tuple[Weight, ...]:
    """The patch embedding over a few frames at once."""
    patch = config.size("patch_size")
    frames = config.size("temporal_patch_size", default=2)
    channels = config.size("in_channels", "in_chans", "num_channels", default=3)
    return conv("patch", (hidden, channels, frames, patch, patch), bias=bias, sites=sites)


def merger(
    width: int, outputs: int, *, normed: int, norm_bias: bool = True, sites: int
) -> tuple[Weight, ...]:
    """A norm, then two layers from the merged patches to the language model."""
    return (
        *norm(normed, bias=norm_bias),
        *linear("project", (width, width), sites=sites),
        *linear("project", (outputs, width), sites=sites),
    )


def qwen2(config: Config) -> Tower:
    """Qwen2-VL's eye: LayerNorm, a plain feed-forward, no position table."""
    hidden, tok = config.size("embed_dim"), grid_patches(config)
    area = config.size("spatial_merge_size") ** 2
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_heads"),
        width=int(hidden * config.number("mlp_ratio")),
        tok=tok,
    )
    return eye_tower(
        stack,
        config.layers("depth"),
        outer=(
            *cubes(config, hidden, bias=False, sites=tok),
            *merger(hidden * area, config.size("hidden_size"), normed=hidden, sites=tok // area),
        ),
    )


def qwen25(config: Config) -> Tower:
    """Qwen2.5-VL's eye: RMSNorm, gated, most layers looking inside windows."""
    hidden, tok = config.size("hidden_size"), grid_patches(config)
    area = config.size("spatial_merge_size") ** 2
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_heads"),
        kv_heads=config.maybe("num_key_value_heads"),
        width=config.size("intermediate_size"),
        gated=True,
        norm_bias=False,
        tok=tok,
    )
    merged = merger(
        hidden * area, config.size("out_hidden_size"), normed=hidden, norm_bias=False, sites=tok // area
    )
    whole = set(config.sizes("fullatt_block_indexes"))
    window = (config.size("window_size") // config.size("patch_size")) ** 2
    near = layer(replace(stack, window_tok=window))
    return Tower(
        name="vision",
        hidden=hidden,
        layers=tuple(layer(stack) if index in whole else near for index in range(config.layers("depth"))),
        outer=(*cubes(config, hidden, bias=False, sites=tok), *merged),
        sample_tok=tok,
    )


def qwen3(config: Config) -> Tower:
    """Qwen3-VL's eye: a position table, and some layers handed on deep into the language model."""
    hidden, tok = config.size("hidden_size"), grid_patches(config)
    area, outputs = config.size("spatial_merge_size") ** 2, config.size("out_hidden_size")
    deep = len(config.items("deepstack_visual_indexes", default=[]))
    stack = Stack(
        hidden=hidden, heads=config.size("num_heads"), width=config.size("intermediate_size"), tok=tok
    )
    wide, sites = hidden * area, tok // area
    return eye_tower(
        stack,
        config.layers("depth"),
        outer=(
            *cubes(config, hidden, bias=True, sites=tok),
            *table(config.size("num_position_embeddings"), hidden),
            *merger(wide, outputs, normed=hidden, sites=sites),
            *merger(wide, outputs, normed=wide, sites=sites) * deep,
        ),
    )


def glm(config: Config, *, ocr: bool = False) -> Tower:
    """GLM's eye: gated layers, a convolution that merges, a gated layer into the language model."""
    hidden, tok, outputs = config.size("hidden_size"), grid_patches(config), config.size("out_hidden_size")
    merge, heads = config.size("spatial_merge_size"), config.size("num_heads")
    biased = config.flag("attention_bias", default=ocr)
    inner = config.size("intermediate_size")
    stack = Stack(
        hidden=hidden,
        heads=heads,
        width=inner if ocr else outputs,
        gated=True,
        norm_bias=False,
        biases=("qkvogud" if ocr else "qkv") * biased,
        qk_norm=hidden // heads if ocr else 0,
        tok=tok,
    )
    rows = (config.size("image_size") // config.size("patch_size")) ** 2
    usual = outputs * config.size("in_channels") if ocr else inner
    wide, sites = config.size("projection_intermediate_size", default=usual), tok // merge**2
    return eye_tower(
        stack,
        config.layers("depth"),
        outer=(
            *cubes(config, hidden, bias=True, sites=tok),
            *(() if ocr else (*table(rows, hidden), *norm(hidden))),
            *norm(hidden),
            *conv("project", (outputs, hidden, merge, merge), sites=sites),
            *linear("project", (outputs, outputs), bias=False, sites=sites),
            *norm(outputs, bias=True),
            *linear("project", (wide, outputs), bias=False, sites=sites) * 2,
            *linear("project", (outputs, wide), bias=False, sites=sites),
        ),
    )
