"""Qwen4-Exp: delta nets and indexed attention in streams, and layers that look n-grams up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import count

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Sizes, Style, attend, layer, layer_types, read_sizes, text_arch, with_mtp
from rigright.arch.experts import Mixture, feeding, routing
from rigright.arch.kin.latent import indexed_heads
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Layer, Weight
from rigright.arch.ssm import conv1d, gated_delta, read_delta
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import say

MOST_TABLES = 512


WORD_ELEMS = 4  # 16-bit elements in a token's number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grams:
    """Hashed tables of token n-grams, and the convolution behind them."""

    layers: tuple[int, ...]  # from zero, in order
    longest: int
    tables: int  # of each layer
    width: int  # of all its tables together
    least_rows: int
    step_rows: int
    conv: int


def read_qwen4_exp_text(config: Config, name: str) -> Arch:
    """Qwen4-Exp: delta nets and indexed attention in hyper-connected streams; some layers look n-grams up."""
    size = read_sizes(config, width=1)
    stream = size.hidden * config.size("hc_count")
    # how a block reads from all streams: a norm, and a mixture of low rank
    rank = config.size("hc_lowrank")
    down = matrix("other.connect", rank, inputs=stream, cut=Cut.WHOLE)
    reads = (*norm(stream), *down, *matrix("other.connect", stream, inputs=rank, cut=Cut.WHOLE))
    writes = matrix("other.connect", config.size("hc_count"), inputs=stream, cut=Cut.WHOLE)
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="qwen4_exp_text", qkv_bias=biased, out_bias=biased, qk_norm="head", norms=0, last_norm=False,
        extra=(*reads, *writes) * 2, outer=reads, gate="wide", gate_bias=biased,
    )  # fmt: skip
    period = config.size("full_attention_interval", default=4)
    kinds = layer_types(
        config, size.layers, default=lambda at: "linear_attention" if (at + 1) % period else "full"
    )
    grams, delta = _read_grams(config, size), gated_delta(read_delta(config))
    whole, heads, width = (
        attend(size, style),
        config.maybe("indexer_n_heads"),
        config.maybe("indexer_head_dim"),
    )
    if heads and width:
        budget = config.maybe("indexer_budget")
        whole = indexed_heads(whole, size.hidden, heads=heads, width=width, topk_tok=budget)
    ffn = feeding(size, style, mixture=Mixture(shared_gate=True), ffn=routing(config))

    def build(key: tuple[bool, int | None]) -> Layer:
        linear, place = key
        mixing = delta if linear else whole
        return layer(size.hidden, style, _looked_up(mixing, grams, stream=stream, place=place), ffn)

    places = [grams.layers.index(at) if at in grams.layers else None for at in range(size.layers)]
    keys = zip((kind == "linear_attention" for kind in kinds), places, strict=True)
    arch = text_arch(config, name, style=style, size=size, layers=repeat(keys, build))
    return with_mtp(config, arch, layer=build((False, None)), copies=False)


def _read_grams(config: Config, size: Sizes) -> _Grams:
    layers = tuple(sorted({at - 1 for at in config.sizes("ple_layer_ids", default=())}))
    strange = next((at + 1 for at in layers if not 0 <= at < size.layers), None)
    if strange is not None:
        raise DataError(
            say(
                "{where}: n-gram lookup at layer {layer}, but the layers are 1 to {layers}",
                where=config.where,
                layer=strange,
                layers=size.layers,
            )
        )
    longest = config.size("ngram_size")
    tables = (longest - 1) * config.size("heads_per_ngram")
    width = config.size("ple_embed_dim", default=size.hidden)
    if layers and (not 0 < tables * len(layers) <= MOST_TABLES or width % tables):
        raise DataError(
            say(
                "{where}: {tables} n-gram tables in each of {layers} layers cannot share a width of {width}",
                where=config.where,
                tables=tables,
                layers=len(layers),
                width=width,
            )
        )
    return _Grams(
        layers=layers,
        longest=longest,
        tables=tables,
        width=width,
        least_rows=config.size("ngram_vocab_size_base"),
        step_rows=config.size("make_ngram_vocab_size_divisible_by"),
        conv=config.size("ple_conv_kernel_size"),
    )


def _looked_up(block: Block, grams: _Grams, *, stream: int, place: int | None) -> Block:
    """The mixing of a layer that also looks up its n-grams: the layer of tables with this number."""
    if place is None or block.mixer is None:
        return block
    hashed = _primes(grams.least_rows, grams.tables * (place + 1))[-grams.tables :]
    rows = -(-sum(hashed) // grams.step_rows) * grams.step_rows
    hidden = next(weight.shape[0] for weight in block.weights if weight.role == "mixer.out")
    weights = (
        Weight(role="embed.ngram", shape=(rows, grams.width // grams.tables), cut=Cut.VOCAB),
        *matrix("other.key", stream, inputs=grams.width, cut=Cut.WHOLE),
        *matrix("other.value", hidden, inputs=grams.width, cut=Cut.WHOLE),
        *norm(stream) * 3,
        *conv1d(stream, grams.conv, bias=False),
    )
    seen = (grams.conv - 1) * grams.longest * stream + (grams.longest - 1) * WORD_ELEMS
    mixer = replace(block.mixer, state16_elems=block.mixer.state16_elems + seen)
    return Block((*block.weights, *weights), mixer=mixer)


@cache
def _primes(least: int, number: int) -> tuple[int, ...]:
    """The first so many primes from `least` on: tables of unlike lengths hash apart."""
    numbers: list[int] = []
    for item in count(max(least, 2)):
        if len(numbers) == number:
            return tuple(numbers)
        if item == 2 or (item % 2 and all(item % by for by in range(3, math.isqrt(item) + 1, 2))):
            numbers.append(item)
    return tuple(numbers)
