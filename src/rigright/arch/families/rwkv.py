"""RWKV 4: time mixing and channel mixing, LayerNorms with shifts, one more norm before the first layer."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, text_arch
from rigright.arch.defaults import full
from rigright.arch.families.mamba import bare_sizes
from rigright.arch.record import Arch, Cut, Ffn, Layer, Mix, Mixer
from rigright.arch.ssm import vector

MATCHES = ("rwkv", "RwkvForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an RWKV-4 config."""
    config = full(config, "rwkv")
    hidden = config.size("hidden_size")
    inner = config.maybe("attention_hidden_size") or hidden
    width = config.maybe("intermediate_size") or 4 * hidden
    style = Style(family="rwkv", norm="layer")
    size = bare_sizes(config, tied=config.flag("tie_word_embeddings", default=False))
    weights = (
        *vector("mixer.decay", inner),
        *vector("mixer.skip", inner),
        *(vector("mixer.shift", 1, 1, hidden) * 3),
        *(matrix("mixer.in", inner, inputs=hidden, cut=Cut.OUT) * 3),
        *matrix("mixer.out", hidden, inputs=inner, cut=Cut.IN),
    )
    # the state of a layer: the last token of both mixings in 16 bit, three sums in fp32
    mixer = Mixer(
        kind=Mix.LINEAR,
        heads=inner,
        key_dim=1,
        value_dim=1,
        state32_elems=3 * inner,
        state16_elems=2 * hidden,
    )
    same = layer(hidden, style, Block(weights, mixer=mixer), channel(hidden, width))
    layers = opened((same,) * size.layers, hidden)
    return replace(
        text_arch(config, name, style=style, size=size, layers=layers),
        max_context_tok=config.maybe("context_length"),
    )


def opened(layers: tuple[Layer, ...], hidden: int) -> tuple[Layer, ...]:
    """The layers, the first with a norm before it."""
    if not layers:
        return layers
    first = replace(layers[0], weights=(*norm(hidden, bias=True), *layers[0].weights))
    return (first, *layers[1:])


def channel(hidden: int, width: int, *, gated: bool = True, shifts: int = 2) -> Block:
    """Channel mixing: a feed-forward whose output a receptance gates."""
    weights = (
        *(vector("mixer.shift", 1, 1, hidden) * shifts),
        *matrix("ffn.up", width, inputs=hidden, cut=Cut.OUT),
        *(matrix("ffn.gate", hidden, inputs=hidden, cut=Cut.OUT) if gated else ()),
        *matrix("ffn.down", hidden, inputs=width, cut=Cut.IN),
    )
    return Block(weights, ffn=Ffn(width=width, gated=False))
