"""Lumina 2 and Z-Image: refiners of noise and of text, then layers over both."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import matrix, norm
from rigright.arch.config import Config
from rigright.arch.dit import TIME, Canvas, Kinds, Parts, Scene, embedder, read_scene, steered
from rigright.arch.record import Arch, Cut, Layer
from rigright.arch.stack import layer, linear, vector

MATCHES = ("lumina2", "Lumina2Transformer2DModel", "ZImageTransformer2DModel")


def read(config: Config, name: str) -> Arch:
    """Read the config of any of them."""
    return read_scene(config, name, kinds=_KINDS)


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
    head = hidden // scene.heads
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


_KINDS: Kinds = {
    "Lumina2Transformer2DModel": (Canvas(), _lumina),
    "ZImageTransformer2DModel": (Canvas(text_tok=512), _zimage),
}
