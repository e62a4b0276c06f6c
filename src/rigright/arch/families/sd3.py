"""Stable Diffusion 3 and 3.5: image and text in two streams that attend to each other."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.dit import TIME, Canvas, beside, embedder, painter, steered
from rigright.arch.record import Arch, Layer, Mix
from rigright.arch.stack import Stack, attention, conv, layer, linear, mixer, vector

MATCHES = ("sd3", "diffusers-sd3transformer", "SD3Transformer2DModel")
CANVAS = Canvas(text_tok=333)  # 77 words seen by CLIP, 256 by T5


def read(config: Config, name: str) -> Arch:
    """Read an SD3 transformer's config."""
    config = full(config, "SD3Transformer2DModel")
    heads, head = config.size("num_attention_heads"), config.size("attention_head_dim")
    hidden, patch = heads * head, config.size("patch_size")
    tok = CANVAS.tokens(config, patch=patch)
    count = config.layers("num_layers")
    twice = set(config.sizes("dual_attention_layers", default=()))
    stack = Stack(
        hidden=hidden,
        heads=heads,
        width=4 * hidden,
        norms=0,
        qk_norm=head if config.raw.get("qk_norm") is not None else 0,
        steers=4,
        tok=tok,
    )
    layers = tuple(_layer(stack, dual=index in twice, last=index == count - 1) for index in range(count))
    inputs = config.size("in_channels")
    outputs = config.maybe("out_channels") or inputs
    outer = (
        *conv("patch", (hidden, inputs, patch, patch), sites=tok),
        *embedder(hidden, TIME),
        *embedder(hidden, config.size("pooled_projection_dim")),
        *linear("project", (hidden, config.size("joint_attention_dim")), sites=CANVAS.text_tok),
        *linear("project", (2 * hidden, hidden)),
        *linear("head", (patch * patch * outputs, hidden), sites=tok),
    )
    return painter(name, "sd3", layers=layers, outer=outer, hidden=hidden, tok=tok)


def _layer(stack: Stack, *, dual: bool, last: bool) -> Layer:
    """Both streams; the last layer leaves the text where it is, a dual one attends to the image twice."""
    hidden = stack.hidden
    own = layer(stack)
    if dual:
        again = replace(stack, tok=None)
        extra = attention(again, mixer(replace(again, kind=Mix.BOTH)))
        norms = vector(stack.qk_norm) * 2 if stack.qk_norm else ()
        spotted = tuple(replace(weight, sites=stack.tok or 1, role=f"{weight.role}") for weight in extra)
        own = replace(own, weights=(*own.weights, *spotted, *norms))
    text = layer(replace(stack, tok=CANVAS.text_tok, width=0 if last else stack.width, kind=Mix.BOTH))
    if last:
        kept = tuple(weight for weight in text.weights if not weight.role.startswith("attn.o"))
        text = replace(text, weights=kept)
    own_factors, text_factors = 9 if dual else 6, 2 if last else 6
    return steered(
        beside(own, text),
        *linear("project", (own_factors * hidden, hidden)),
        *linear("project", (text_factors * hidden, hidden)),
    )
