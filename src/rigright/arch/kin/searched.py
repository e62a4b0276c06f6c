"""Decoders whose layers a search or a rule made unlike one another."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import LAYERS, Sizes, Style, attend, feed, layer, read_sizes, text_arch
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Layer
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import say


def read_deci(config: Config, name: str) -> Arch:
    """DeciLM and DeciCoder: Llama whose layers have as many key-value heads as a search found."""
    style = Style(family="deci")
    size = read_sizes(config)
    numbers = config.sizes("num_key_value_heads_per_layer", default=[size.kv_heads] * size.layers)
    sizes = [read_sizes(config, kv_heads=kv_heads) for kv_heads in numbers]
    layers = repeat(sizes, lambda each: layer(each.hidden, style, attend(each, style), feed(each, style)))
    return text_arch(config, name, style=style, size=size, layers=layers)


def read_openelm(config: Config, name: str) -> Arch:
    """OpenELM: each layer with its own number of heads and its own width."""
    layers = config.layers(*LAYERS)
    heads = config.sizes("num_query_heads")
    kv_heads = config.sizes("num_kv_heads")
    step = config.size("ffn_dim_divisor", default=256)
    normed = config.flag("normalize_qk_projections", default=True)
    style = Style(family="openelm", qk_norm="head" if normed else "none")
    size = read_sizes(
        config,
        layers=layers,
        heads=heads[0],
        kv_heads=kv_heads[0],
        width=step,
        tied=config.flag("share_input_output_layers", default=True),
    )
    widths = [
        _divisible(Config({"item": item}, config.where).number("item") * size.hidden, step)
        for item in config.items("ffn_multipliers")
    ]
    sizes = [
        replace(size, heads=own, kv_heads=kv, width=width)
        for own, kv, width in zip(heads[:layers], kv_heads[:layers], widths[:layers], strict=True)
    ]
    built = repeat(sizes, lambda each: layer(each.hidden, style, attend(each, style), feed(each, style)))
    return text_arch(config, name, style=style, size=size, layers=built)


def _divisible(width: float, step: int) -> int:
    """The nearest multiple of the step, never a tenth below."""
    nearest = max(step, int(width + step / 2) // step * step)
    return nearest + step if nearest < 0.9 * width else nearest


WIDTH_STEP = 256


def read_nemotron_nas(config: Config, name: str) -> Arch:
    """Nemotron from a search (Super 49B, Ultra 253B): Llama whose layers differ in attention and width."""
    values = config.items("block_configs", default=[])
    layers = config.layers(*LAYERS, default=len(values))
    if len(values) != layers:
        raise DataError(
            say(
                "{where}: {told} blocks are described, the model has {layers} layers",
                where=config.where,
                told=len(values),
                layers=layers,
            )
        )
    size = read_sizes(config, kv_heads=1, width=0, layers=layers)
    built = [
        _layer(Config({"block": block}, config.where).part("block"), size, config=config) for block in values
    ]
    return text_arch(config, name, style=Style(family="nemotron_nas"), size=size, layers=built)


def _layer(block: Config, size: Sizes, *, config: Config) -> Layer:
    attention = _attention(block.part("attention"), size, config=config)
    ffn = _feed(block.part("ffn"), size, config=config)
    parts = [part for part in (attention, ffn) if part is not None]
    return Layer(
        weights=tuple(weight for part in parts for weight in (*blocks.norm(size.hidden), *part.weights)),
        mixer=attention.mixer if attention else None,
        ffn=ffn.ffn if ffn else None,
    )


def _attention(block: Config, size: Sizes, *, config: Config) -> Block | None:
    if block.flag("no_op", default=False):
        return None
    if block.flag("replace_with_linear", default=False):
        return Block(blocks.matrix("attn.o", size.hidden, inputs=size.hidden, cut=Cut.WHOLE))
    per_group = block.size("n_heads_in_group", default=1)
    if size.heads % per_group:
        raise DataError(
            say(
                "{where}: {heads} heads cannot be split into groups of {group}",
                where=block.where,
                heads=size.heads,
                group=per_group,
            )
        )
    biased = config.flag("attention_bias", default=False)
    mixer = blocks.gqa(
        size.heads, size.heads // per_group, head_dim=size.head_dim, window_tok=block.maybe("window_length")
    )
    return blocks.attention(size.hidden, mixer, qkv_bias=biased, out_bias=biased)


def _feed(block: Config, size: Sizes, *, config: Config) -> Block | None:
    if block.flag("no_op", default=False):
        return None
    if block.flag("replace_with_linear", default=False):
        return Block(blocks.matrix("ffn.down", size.hidden, inputs=size.hidden, cut=Cut.WHOLE))
    exact = int(2 * block.number("ffn_mult") * size.hidden / 3)
    width = -(-exact // WIDTH_STEP) * WIDTH_STEP
    return blocks.dense(size.hidden, width, bias=config.flag("mlp_bias", default=False))
