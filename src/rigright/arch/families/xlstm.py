"""xLSTM: matrix memories with input and forget gates, a gated feed-forward."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, text_arch
from rigright.arch.defaults import full
from rigright.arch.families.mamba import bare_sizes
from rigright.arch.record import Arch, Cut, Mix, Mixer

MATCHES = ("xlstm", "xLSTMForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an xLSTM config."""
    config = full(config, "xlstm")
    hidden = config.size("hidden_size", "embedding_dim")
    config = config.over(
        hidden_size=hidden, num_hidden_layers=config.layers("num_hidden_layers", "num_blocks")
    )
    size = bare_sizes(config, tied=False)
    biased = config.flag("use_bias", default=False)
    style = Style(
        family="xlstm",
        norm="layer" if biased else "rms",
        last_norm=False,
        outer=norm(hidden),
    )
    multiple = config.size("ffn_round_up_to_multiple_of")
    width = -(-int(hidden * config.number("ffn_proj_factor")) // multiple) * multiple
    feed = blocks.dense(hidden, width, bias=biased)
    same = layer(hidden, style, _memory(config, hidden, biased=biased), feed)
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)


def _memory(config: Config, hidden: int, *, biased: bool) -> Block:
    heads = config.size("num_heads")
    keys = int(hidden * config.number("qk_dim_factor"))
    values = int(hidden * config.number("v_dim_factor"))
    weights = (
        *matrix("mixer.in", keys, inputs=hidden, cut=Cut.OUT, bias=biased) * 2,
        *matrix("mixer.in", values, inputs=hidden, cut=Cut.OUT, bias=biased),
        *matrix("mixer.gate", values, inputs=hidden, cut=Cut.OUT, bias=biased),
        *matrix("mixer.beta", heads, inputs=hidden, cut=Cut.OUT, bias=True),
        *matrix("mixer.decay", heads, inputs=hidden, cut=Cut.OUT, bias=True),
        *norm(values, bias=biased),
        *matrix("mixer.out", hidden, inputs=values, cut=Cut.IN, bias=biased),
    )
    mixer = Mixer(
        kind=Mix.LINEAR,
        heads=heads,
        kv_heads=heads,
        key_dim=keys // heads,
        value_dim=values // heads,
        state32_elems=keys * values // heads + keys + heads,
    )
    return Block(weights, mixer=mixer)
