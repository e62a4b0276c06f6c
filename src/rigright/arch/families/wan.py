"""Video generators of one stream that look at the text: Wan, LTX, CogVideoX."""

from __future__ import annotations

from math import prod

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.dit import TIME, Canvas, Kinds, Parts, Scene, embedder, read_scene, steered
from rigright.arch.record import Arch, Weight
from rigright.arch.stack import at, conv, layer, linear, table, vector

MATCHES = ("wan", "WanTransformer3DModel", "LTXVideoTransformer3DModel", "CogVideoXTransformer3DModel")


def read(config: Config, name: str) -> Arch:
    """Read the config of any of them."""
    return read_scene(config, name, kinds=_KINDS)


def _ltx(scene: Scene) -> Parts:
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    normed = norm(hidden) * 4 if config.raw.get("qk_norm") is not None else ()
    stack = scene.stack(cross_hidden=config.size("cross_attention_dim"), extra=normed)
    outer = (
        *vector(2, hidden),
        *linear("patch", (hidden, config.size("in_channels")), sites=tok),
        *embedder(hidden, TIME),
        *linear("project", (6 * hidden, hidden)),
        *at(embedder(hidden, config.size("caption_channels")), scene.text_tok),
        *linear("head", (config.maybe("out_channels") or config.size("in_channels"), hidden), sites=tok),
    )
    return scene.layers(stack), outer


def _wan(scene: Scene) -> Parts:
    """Video; with an image to start from a second pair of keys and values looks at it."""
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    patch = config.sizes("patch_size")
    normed = norm(hidden) * 4 if config.raw.get("qk_norm") is not None else ()
    before = norm(hidden, bias=True) if config.flag("cross_attn_norm", default=True) else ()
    image = config.maybe("added_kv_proj_dim")
    added = (*linear("cross.add_k", (hidden, image)) * 2, *norm(hidden)) if image else ()
    stack = scene.stack(width=config.size("ffn_dim"), extra=(*normed, *before, *added))
    outer = (
        *vector(2, hidden),
        *conv("patch", (hidden, config.size("in_channels"), *patch), sites=tok),
        *embedder(hidden, config.size("freq_dim")),
        *linear("project", (6 * hidden, hidden)),
        *at(embedder(hidden, config.size("text_dim")), scene.text_tok),
        *(_image(config, hidden) if config.raw.get("image_dim") is not None else ()),
        *linear("head", (config.size("out_channels") * prod(patch), hidden), sites=tok),
    )
    return scene.layers(stack), outer


def _image(config: Config, hidden: int) -> tuple[Weight, ...]:
    """What brings an image's features to the width."""
    width = config.size("image_dim")
    rows = config.maybe("pos_embed_seq_len")
    return (
        *norm(width, bias=True),
        *embedder(hidden, width, middle=width),
        *norm(hidden, bias=True),
        *(table(rows, width) if rows else ()),
    )


def _cogvideo(scene: Scene) -> Parts:
    """Text and video in one sequence; norms of their own factors before each part."""
    config, hidden = scene.config, scene.hidden
    tok, time = scene.tok + scene.text_tok, config.size("time_embed_dim")
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    head = hidden // scene.heads
    deep = config.maybe("patch_size_t")
    biases = "qkvogud" if config.flag("attention_bias", default=True) else "ogud"
    stack = scene.stack(cross_hidden=0, norms=2, tok=tok, biases=biases, extra=norm(head, bias=True) * 2)
    steering = linear("project", (6 * hidden, time)) * 2
    cubed = inputs * patch * patch * (deep or 1)
    pixels = (hidden, cubed) if deep else (hidden, inputs, patch, patch)
    patched = deep is not None or config.flag("patch_bias", default=True)
    learned = config.flag("use_learned_positional_embeddings", default=False)
    outer = (
        *conv("patch", pixels, bias=patched, sites=scene.tok),
        *linear("project", (hidden, config.size("text_embed_dim")), sites=scene.text_tok),
        *embedder(time, hidden, middle=time),
        *(embedder(time, config.size("ofs_embed_dim")) if config.maybe("ofs_embed_dim") else ()),
        *norm(hidden, bias=True) * 2,
        *linear("project", (2 * hidden, time)),
        *linear("head", (config.size("out_channels") * patch * patch * (deep or 1), hidden), sites=scene.tok),
        *(table(config.size("max_text_seq_length") + scene.tok, hidden) if learned else ()),
    )
    return (steered(layer(stack), *steering),) * config.layers("num_layers"), outer


_KINDS: Kinds = {
    "WanTransformer3DModel": (Canvas(frames=21, high=60, wide=104, text_tok=512), _wan),
    "LTXVideoTransformer3DModel": (Canvas(frames=16, high=15, wide=22, text_tok=128), _ltx),
    "CogVideoXTransformer3DModel": (Canvas(frames=13, high=60, wide=90, text_tok=226), _cogvideo),
}
