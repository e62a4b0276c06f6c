"""Image generators of one stream that look at the text or a class: PixArt, Sana, CogView, DiT."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.dit import TIME, Canvas, Kinds, Parts, Scene, embedder, read_scene, steered
from rigright.arch.record import Arch, Layer, Mix, Weight
from rigright.arch.stack import at, conv, layer, linear, vector

MATCHES = (
    "pixart",
    "PixArtTransformer2DModel",
    "DiTTransformer2DModel",
    "SanaTransformer2DModel",
    "CogView4Transformer2DModel",
)


def read(config: Config, name: str) -> Arch:
    """Read the config of any of them."""
    return read_scene(config, name, kinds=_KINDS)


def _pixart(scene: Scene) -> Parts:
    config, hidden, tok = scene.config, scene.hidden, scene.tok
    patch, inputs = config.size("patch_size"), config.size("in_channels")
    outputs = config.maybe("out_channels") or inputs
    captions = config.maybe("caption_channels")
    sized = config.raw.get("use_additional_conditions")
    sized = config.size("sample_size") == 128 if sized is None else bool(sized)
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
    layers = tuple(_without_key_bias(one, biases, more=feed) for one in scene.layers(stack))
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


def _without_key_bias(one: Layer, biases: str, *, more: tuple[Weight, ...]) -> Layer:
    """Self-attention without biases beside cross-attention with all."""
    bare = tuple(w for w in one.weights if "q" in biases or w.role != "attn.k.bias")
    mixer = None if one.mixer is None else replace(one.mixer, kind=Mix.LINEAR)
    return replace(one, weights=(*bare, *more), mixer=mixer)


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


_KINDS: Kinds = {
    "PixArtTransformer2DModel": (Canvas(text_tok=300), _pixart),
    "DiTTransformer2DModel": (Canvas(high=32, wide=32), _dit),
    "SanaTransformer2DModel": (Canvas(high=32, wide=32, text_tok=300), _sana),
    "CogView4Transformer2DModel": (Canvas(text_tok=224), _cogview),
}
