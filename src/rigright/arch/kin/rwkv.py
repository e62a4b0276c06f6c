"""RWKV and xLSTM: a state for each head, no attention."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, near_published, text_arch, warned
from rigright.arch.families import kind_of
from rigright.arch.kin.mamba import bare_sizes
from rigright.arch.record import Arch, Cut, Ffn, Layer, Mix, Mixer, Weight
from rigright.arch.ssm import vector
from rigright.base.record import replace
from rigright.base.words import say


def read_rwkv(config: Config, name: str) -> Arch:
    """RWKV 4: time mixing and channel mixing, LayerNorms, one more norm before the first layer."""
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


def read_rwkv5(config: Config, name: str) -> Arch:
    """RWKV 5 (Eagle), 6 (Finch) and 7 (Goose): heads with matrix states, gates, low-rank mixing."""
    generation = int("".join(mark for mark in str(config.raw.get("model_type")) if mark.isdigit()) or 5)
    hidden = config.size("hidden_size")
    size = bare_sizes(config, tied=False)
    style = Style(family=kind_of(config, "rwkv5"), norm="layer")
    default = 4 * hidden if generation == 7 else int(hidden * 3.5) // 32 * 32
    width = config.maybe("intermediate_size") or default
    feed = channel(hidden, width, gated=generation < 7, shifts=1 if generation == 7 else 2)
    first = layer(hidden, style, _mixing(config, generation, first=True), feed)
    rest = layer(hidden, style, _mixing(config, generation, first=False), feed)
    layers: tuple[Layer, ...] = opened((first, *(rest,) * (size.layers - 1)), hidden)
    context = config.maybe("context_length") or config.maybe("max_position_embeddings")
    arch = text_arch(config, name, style=style, size=size, layers=layers)
    arch = near_published(replace(arch, max_context_tok=context))
    if not config.flag("tie_word_embeddings", default=False):
        return arch
    return warned(
        arch, say("the config ties the output head to the embeddings, but files of this family store both")
    )


def _mixing(config: Config, generation: int, *, first: bool) -> Block:
    hidden = config.size("hidden_size")
    inner = config.maybe("attention_hidden_size") or hidden
    width = config.size("head_size", "head_dim", "num_attention_heads", default=64)
    heads = inner // width
    mixer = Mixer(
        kind=Mix.LINEAR,
        heads=heads,
        kv_heads=heads,
        key_dim=width,
        value_dim=width,
        state32_elems=heads * width * width,
        state16_elems=2 * hidden,
    )
    extra = (
        _seventh(config, hidden, first=first)
        if generation >= 7
        else (_fifth if generation == 5 else _sixth)(hidden, inner)
    )
    gate = matrix("mixer.gate", inner, inputs=hidden, cut=Cut.OUT) if generation < 7 else ()
    weights = (
        *(matrix("mixer.in", inner, inputs=hidden, cut=Cut.OUT) * 3),
        *gate,
        *matrix("mixer.out", hidden, inputs=inner, cut=Cut.IN),
        *norm(inner, bias=True),
        *extra,
    )
    return Block(weights, mixer=mixer)


def _fifth(hidden: int, inner: int) -> tuple[Weight, ...]:
    """Shifts of k, v, r, g; a decay and a bonus for every channel of the heads."""
    return (*(vector("mixer.shift", 1, 1, hidden) * 4), *(vector("mixer.decay", inner) * 2))


def _sixth(hidden: int, inner: int) -> tuple[Weight, ...]:
    """Shifts and decays that the token moves, by matrices of low rank."""
    wide = hidden >= 4096
    low, decay = (64, 128) if wide else (32, 64)
    return (
        *(vector("mixer.shift", 1, 1, hidden) * 6),
        *matrix("mixer.shift_a", hidden, inputs=5 * low, cut=Cut.WHOLE),
        *vector("mixer.shift_b", 5, low, hidden),
        *(vector("mixer.decay", inner) * 2),
        *matrix("mixer.decay_a", hidden, inputs=decay, cut=Cut.WHOLE),
        *matrix("mixer.decay_b", decay, inputs=inner, cut=Cut.OUT),
    )


def _seventh(config: Config, hidden: int, *, first: bool) -> tuple[Weight, ...]:
    """Decay, in-context rate, value and gate of low rank; the first layer mixes no earlier values."""
    ranks = {
        key: config.size(f"{key}_low_rank_dim", default=default)
        for key, default in (("decay", 64), ("a", 64), ("v", 32), ("gate", 128))
    }
    biased = ("decay", "a") if first else ("decay", "a", "v")
    return (
        *(vector("mixer.shift", 1, 1, hidden) * 6),
        *(vector("mixer.skip", hidden) * 3),
        *(weight for key in biased for weight in _low(ranks[key], hidden, bias=True)),
        *_low(ranks["gate"], hidden, bias=False),
    )


def _low(rank: int, hidden: int, *, bias: bool) -> tuple[Weight, ...]:
    return (
        *matrix("mixer.low_a", rank, inputs=hidden, cut=Cut.WHOLE),
        *matrix("mixer.low_b", hidden, inputs=rank, cut=Cut.OUT, bias=bias),
    )


def read_xlstm(config: Config, name: str) -> Arch:
    """xLSTM: matrix memories with input and forget gates, a gated feed-forward."""
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
