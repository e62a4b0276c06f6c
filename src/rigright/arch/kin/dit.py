"""Denoisers of transformers: Stable Diffusion 3, PixArt, Lumina, Wan and their kin."""

from __future__ import annotations

from math import prod

from rigright.arch.blocks import matrix, norm, projections
from rigright.arch.config import Config
from rigright.arch.dit import (
    TIME,
    Canvas,
    Kinds,
    Parts,
    Scene,
    beside,
    embedder,
    read_scene,
    steered,
)
from rigright.arch.record import Arch, Cut, Layer, Mix, Weight
from rigright.arch.stack import Stack, at, conv, layer, linear, mixer, table, vector
from rigright.arch.vision import sides
from rigright.base.record import replace


def read_sd3(config: Config, name: str) -> Arch:
    """Stable Diffusion 3 and 3.5: image and text in two streams that attend to each other."""
    return read_scene(config, name, kinds=_SD3_KINDS, family="sd3")


def _sd3(scene: Scene) -> Parts:
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    patch, count = config.size("patch_size"), config.layers("num_layers")
    twice = set(config.sizes("dual_attention_layers", default=()))
    stack = scene.stack(cross_hidden=0, qk_norm=scene.head if config.raw.get("qk_norm") is not None else 0)
    layers = tuple(
        _layer(stack, text_tok=scene.text_tok, dual=index in twice, last=index == count - 1)
        for index in range(count)
    )
    inputs = config.size("in_channels")
    outputs = config.maybe("out_channels") or inputs
    outer = (
        *conv("patch", (hidden, inputs, patch, patch), sites=tok),
        *embedder(hidden, TIME),
        *embedder(hidden, config.size("pooled_projection_dim")),
        *linear("project", (hidden, config.size("joint_attention_dim")), sites=scene.text_tok),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * outputs, hidden), sites=tok),
    )
    return layers, outer


def _layer(stack: Stack, *, text_tok: int, dual: bool, last: bool) -> Layer:
    """Both streams; the last layer leaves the text where it is, a dual one attends to the image twice."""
    hidden = stack.hidden
    own = layer(stack)
    if dual:
        again = replace(stack, tok=None)
        extra = projections("attn", mixer(again), hidden=hidden, biases=again.biases)
        norms = vector(stack.qk_norm) * 2 if stack.qk_norm else ()
        spotted = tuple(replace(weight, sites=stack.tok or 1) for weight in extra)
        own = replace(own, weights=(*own.weights, *spotted, *norms))
    text = layer(replace(stack, tok=text_tok, width=0 if last else stack.width, kind=Mix.BOTH))
    if last:
        kept = tuple(weight for weight in text.weights if not weight.role.startswith("attn.o"))
        text = replace(text, weights=kept)
    own_factors, text_factors = 9 if dual else 6, 2 if last else 6
    return steered(
        beside(own, text),
        *linear("project", (own_factors * hidden, hidden)),
        *linear("project", (text_factors * hidden, hidden)),
    )


# 77 words seen by CLIP, 256 by T5
_SD3_KINDS: Kinds = {"SD3Transformer2DModel": (Canvas(text_tok=333), _sd3)}


def read_pixart(config: Config, name: str) -> Arch:
    """Image generators of one stream that look at the text or a class: PixArt, Sana, CogView, DiT."""
    return read_scene(config, name, kinds=_PIXART_KINDS)


def _pixart(scene: Scene) -> Parts:
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    outputs = config.maybe("out_channels") or inputs
    captions = config.maybe("caption_channels")
    sized = config.raw.get("use_additional_conditions")
    sized = max(sides(config.raw.get("sample_size"), 128)) == 128 if sized is None else bool(sized)
    biases = "qkvogudc" if config.flag("attention_bias", default=True) else "ogud"
    back = () if "c" in biases else (Weight(role="cross.o.bias", shape=(hidden,)),)
    stack = scene.stack(biases=biases, cross_hidden=config.maybe("cross_attention_dim") or hidden, extra=back)
    outer = (
        *vector(2, hidden),
        *conv("patch", (hidden, inputs, patch, patch), sites=tok),
        *linear("head", (patch * patch * outputs, hidden), sites=tok),
        *embedder(hidden, TIME),
        *(embedder(hidden // 3, TIME) * 2 if sized else ()),
        *linear("project", (6 * hidden, hidden)),
        *(at(embedder(hidden, captions), scene.text_tok) if captions else ()),
    )
    return scene.layers(stack), outer


def _dit(scene: Scene) -> Parts:
    """Classes instead of a text; each layer embeds time and class by itself."""
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    outputs = config.maybe("out_channels") or inputs
    steering = (
        *embedder(hidden, TIME),
        *vector(config.size("num_embeds_ada_norm") + 1, hidden),
        *linear("project", (6 * hidden, hidden)),
    )
    plain = steered(layer(scene.stack(cross_hidden=0)), *steering)
    outer = (
        *conv("patch", (hidden, inputs, patch, patch), sites=tok),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * outputs, hidden), sites=tok),
    )
    return (plain,) * config.layers("num_layers"), outer


def _sana(scene: Scene) -> Parts:
    """Linear attention, a gated convolution for a feed-forward."""
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    outputs = config.maybe("out_channels") or inputs
    width = int(hidden * config.number("mlp_ratio"))
    normed = config.raw.get("qk_norm") is not None
    feed = (
        *conv("ffn.up", (2 * width, hidden, 1, 1), sites=tok),
        *conv("mixer.conv", (2 * width, 1, 3, 3), sites=tok),
        *conv("ffn.down", (hidden, width, 1, 1), bias=False, sites=tok),
        *((*norm(hidden), *norm(hidden)) * 2 if normed else ()),
    )
    biases = "qkvoc" if config.flag("attention_bias", default=False) else "okc"
    stack = scene.stack(width=0, biases=biases, cross_hidden=config.maybe("cross_attention_dim") or hidden)
    layers = tuple(_without_key_bias(layer, biases, more=feed) for layer in scene.layers(stack))
    guided = config.flag("guidance_embeds", default=False)
    outer = (
        *vector(2, hidden),
        *conv("patch", (hidden, inputs, patch, patch), sites=tok),
        *embedder(hidden, TIME) * (2 if guided else 1),
        *linear("project", (6 * hidden, hidden)),
        *at(embedder(hidden, config.size("caption_channels")), scene.text_tok),
        *norm(hidden),
        *linear("head", (patch * patch * outputs, hidden), sites=tok),
    )
    return layers, outer


def _without_key_bias(layer: Layer, biases: str, *, more: tuple[Weight, ...]) -> Layer:
    """Self-attention without biases beside cross-attention with all."""
    bare = tuple(w for w in layer.weights if "q" in biases or w.role != "attn.k.bias")
    mixer = None if layer.mixer is None else replace(layer.mixer, kind=Mix.LINEAR)
    return replace(layer, weights=(*bare, *more), mixer=mixer)


def _cogview(scene: Scene) -> Parts:
    config, hidden = scene.config, scene.hidden
    tok, time = scene.tok + scene.text_tok, config.size("time_embed_dim")
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    stack = scene.stack(cross_hidden=0, tok=tok)
    outer = (
        *linear("patch", (hidden, inputs * patch * patch), sites=scene.tok),
        *linear("project", (hidden, config.size("text_embed_dim")), sites=scene.text_tok),
        *embedder(time, hidden, middle=time),
        *embedder(time, 6 * config.size("condition_dim"), middle=time),
        *linear("project", (2 * hidden, time)),
        *linear("head", (config.size("out_channels") * patch * patch, hidden), sites=scene.tok),
    )
    layers = (steered(layer(stack), *linear("project", (12 * hidden, time))),) * config.layers("num_layers")
    return layers, outer


_PIXART_KINDS: Kinds = {
    "PixArtTransformer2DModel": (Canvas(text_tok=300), _pixart),
    "DiTTransformer2DModel": (Canvas(high=32, wide=32), _dit),
    "SanaTransformer2DModel": (Canvas(high=32, wide=32, text_tok=300), _sana),
    "CogView4Transformer2DModel": (Canvas(text_tok=224), _cogview),
}


def read_lumina2(config: Config, name: str) -> Arch:
    """Lumina 2 and Z-Image: refiners of noise and of text, then layers over both."""
    return read_scene(config, name, kinds=_LUMINA2_KINDS)


def _lumina(scene: Scene) -> Parts:
    """Refiners of noise and of text, then layers over both; four norms a layer."""
    config, hidden = scene.config, scene.hidden
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    time = min(hidden, 1024)
    multiple = config.size("multiple_of")
    width = -(-4 * hidden // multiple) * multiple
    captions = config.size("cap_feat_dim")
    outer = (
        *linear("patch", (hidden, patch * patch * inputs), sites=scene.tok),
        *embedder(time, TIME),
        *norm(captions),
        *linear("project", (hidden, captions), sites=scene.text_tok),
        *linear("project", (hidden, time)),
        *linear("head", (patch * patch * (config.maybe("out_channels") or inputs), hidden), sites=scene.tok),
    )
    kv_heads = config.maybe("num_kv_heads")
    return _refined(scene, width=width, time=time, kv_heads=kv_heads, count="num_layers"), outer


def _zimage(scene: Scene) -> Parts:
    config, hidden = scene.config, scene.hidden
    inputs = config.size("in_channels")
    time = min(hidden, 256)
    captions = config.size("cap_feat_dim")
    squares = config.aligned(**{key: config.sizes(key) for key in ("all_patch_size", "all_f_patch_size")})
    ends = tuple(
        weight
        for side, deep in squares
        for weight in (
            *linear("patch", (hidden, side * side * deep * inputs), sites=scene.tok),
            *linear("head", (side * side * deep * inputs, hidden), sites=scene.tok),
            *linear("project", (hidden, time)),
        )
    )
    outer = (
        *vector(1, hidden) * 2,
        *ends,
        *embedder(time, TIME, middle=1024),
        *norm(captions),
        *linear("project", (hidden, captions), sites=scene.text_tok),
    )
    width = int(hidden / 3 * 8)
    kv_heads = config.maybe("n_kv_heads")
    return _refined(scene, width=width, time=time, kv_heads=kv_heads, count="n_layers"), outer


def _refined(scene: Scene, *, width: int, time: int, kv_heads: int | None, count: str) -> tuple[Layer, ...]:
    """Refiners of the noise, of the text (not steered), and the layers over both."""
    config, hidden = scene.config, scene.hidden
    head = scene.head
    normed = config.flag("qk_norm", default=True)
    stack = scene.stack(
        width=width,
        gated=True,
        biases="",
        norms=4,
        norm_bias=False,
        qk_norm=head if normed else 0,
        kv_heads=kv_heads,
        cross_hidden=0,
    )
    steering = matrix("project", 4 * hidden, inputs=time, cut=Cut.WHOLE, bias=True)
    refiners = config.layers("num_refiner_layers", "n_refiner_layers")
    noise = steered(layer(stack), *steering)
    text = layer(replace(stack, tok=scene.text_tok))
    both = steered(layer(replace(stack, tok=scene.tok + scene.text_tok)), *steering)
    return (*(noise,) * refiners, *(text,) * refiners, *(both,) * config.layers(count))


_LUMINA2_KINDS: Kinds = {
    "Lumina2Transformer2DModel": (Canvas(), _lumina),
    "ZImageTransformer2DModel": (Canvas(text_tok=512), _zimage),
}


def read_wan(config: Config, name: str) -> Arch:
    """Video generators of one stream that look at the text: Wan, LTX, CogVideoX."""
    return read_scene(config, name, kinds=_WAN_KINDS)


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


def _ltx2(scene: Scene) -> Parts:
    """Video and sound beside each other: each looks at itself, at the text and at the other."""
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    heard = config.size("audio_num_attention_heads") * config.size("audio_attention_head_dim")
    sounds = config.size("audio_cross_attention_dim")
    across = (
        *linear("project", (heard, hidden)), *linear("project", (hidden, heard)),  # video looks at sound
        *linear("project", (heard, hidden)) * 2, *norm(heard) * 4,  # and sound at video
    )  # fmt: skip
    ear = layer(
        replace(
            scene.stack(cross_hidden=sounds, extra=norm(heard) * 4), hidden=heard, width=4 * heard,
            heads=config.size("audio_num_attention_heads"), tok=config.size("audio_tok", default=126),
        )
    )  # fmt: skip
    other = linear("project", (heard, heard)) * 4
    sight = scene.stack(cross_hidden=config.size("cross_attention_dim"), extra=norm(hidden) * 4)
    whole = steered(
        layer(sight), *at(across, tok), *at(other, tok), *ear.weights, *vector(11, hidden + heard)
    )
    outer = (
        *vector(2, hidden + heard),
        *linear("patch", (hidden, config.size("in_channels")), sites=tok),
        *linear("head", (config.size("out_channels"), hidden), sites=tok),
        *linear("patch", (heard, config.size("audio_in_channels"))),
        *linear("head", (config.size("audio_out_channels"), heard)),
        *_timed(hidden, 6), *_timed(heard, 6), *_timed(hidden, 4), *_timed(heard, 4),
        *_timed(hidden, 1), *_timed(heard, 1),
        *at(embedder(hidden, config.size("caption_channels")), scene.text_tok),
        *at(embedder(heard, config.size("caption_channels")), scene.text_tok),
    )  # fmt: skip
    return (whole,) * config.layers("num_layers"), outer


def _timed(hidden: int, factors: int) -> tuple[Weight, ...]:
    """An embedding of the time, and as many factors of it."""
    return (*embedder(hidden, TIME), *linear("project", (factors * hidden, hidden)))


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
    head = scene.head
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


_WAN_KINDS: Kinds = {
    "WanTransformer3DModel": (Canvas(frames=21, high=60, wide=104, text_tok=512), _wan),
    "LTXVideoTransformer3DModel": (Canvas(frames=16, high=15, wide=22, text_tok=128), _ltx),
    "LTX2VideoTransformer3DModel": (Canvas(frames=16, high=16, wide=24, text_tok=1024), _ltx2),
    "CogVideoXTransformer3DModel": (Canvas(frames=13, high=60, wide=90, text_tok=226), _cogvideo),
}
