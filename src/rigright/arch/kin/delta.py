"""Linear attention and delta nets beside whole attention, and experts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import count

from rigright.arch.blocks import Block, connections, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import (
    Sizes,
    Style,
    attend,
    feed,
    layer,
    layer_types,
    near_published,
    read_sizes,
    text_arch,
    with_mtp,
)
from rigright.arch.defaults import full
from rigright.arch.experts import EXPERTS, Mixture, extras, feeding, read_mixture, routing
from rigright.arch.families import kind_of
from rigright.arch.kin.latent import owners
from rigright.arch.latent import indexed, mla, read_index, read_latent
from rigright.arch.plan import listed, repeat, sparse_layers
from rigright.arch.record import Arch, Cut, Layer, Weight
from rigright.arch.ssm import Delta, conv1d, gated_delta, kimi_delta, lightning, read_delta
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import say

LINEAR = "linear_attention"


def read_minimax(config: Config, name: str) -> Arch:
    """MiniMax-Text-01 and M1: lightning attention, whole attention every eighth layer, 32 experts."""
    size, style = read_sizes(config), Style(family="minimax")
    values = listed(config, "attn_type_list", layers=size.layers)  # 1: whole attention, 0: lightning
    whole = [bool(kind) for kind in values] if values else [index % 2 == 0 for index in range(size.layers)]
    kinds = layer_types(
        config, size.layers, default=lambda index: "full_attention" if whole[index] else LINEAR
    )
    mixers = {False: attend(size, style), True: lightning(size.hidden, size.heads, head_dim=size.head_dim)}
    attends = tuple(mixers[kind == LINEAR] for kind in kinds)
    return read_mixture(config, name, style=style, mixture=Mixture(), attends=attends, size=size)


def read_qwen3_next(config: Config, name: str) -> Arch:
    """Qwen3-Next and the text part of Qwen3.5: gated delta nets, gated attention every fourth layer."""
    kind = kind_of(config, "qwen3_next")
    biased = config.flag("attention_bias", default=False)
    style = Style(family=kind, qkv_bias=biased, out_bias=biased, qk_norm="head")
    has_experts = any(config.raw.get(key) for key in EXPERTS)
    size = read_sizes(config, **({} if config.raw.get("intermediate_size") else {"width": 1}))
    period = config.size("full_attention_interval", default=4)
    kinds = layer_types(
        config, size.layers, default=lambda index: LINEAR if (index + 1) % period else "full_attention"
    )
    sparse = sparse_layers(config, size.layers) if has_experts else [False] * size.layers
    mixture = Mixture(shared_gate=True)
    mixers = {
        True: gated_delta(read_delta(config)),
        False: extras(attend(size, style), size.hidden, gate="wide", gate_bias=biased),
    }

    def build(key: tuple[bool, bool]) -> Layer:
        is_linear, is_sparse = key
        feed = feeding(size, style, mixture=mixture, ffn=routing(config) if is_sparse else None)
        return layer(size.hidden, style, mixers[is_linear], feed)

    keys = zip((kind == LINEAR for kind in kinds), sparse, strict=True)
    arch = text_arch(config, name, style=style, size=size, layers=repeat(keys, build))
    return with_mtp(config, arch, layer=build((False, sparse[-1])), copies=False)


def read_olmo_hybrid(config: Config, name: str) -> Arch:
    """OLMo-Hybrid: gated delta nets, and every fourth layer attention with norms over all of q and k."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="olmo_hybrid", qkv_bias=biased, out_bias=biased, qk_norm="all")
    size = read_sizes(config)
    # what the config leaves out of the delta nets follows from its attention
    heads = config.size("linear_num_key_heads", "num_attention_heads")
    width = config.maybe("linear_key_head_dim") or 3 * config.size("hidden_size") // (4 * heads)
    given = config.over(
        linear_num_key_heads=heads,
        linear_num_value_heads=config.size("linear_num_value_heads", "num_attention_heads"),
        linear_key_head_dim=width,
        linear_value_head_dim=config.maybe("linear_value_head_dim") or 2 * width,
    )
    mixers = {True: gated_delta(read_delta(given)), False: attend(size, style)}
    dense = feed(size, style)

    def build(is_linear: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        return layer(size.hidden, style, mixers[is_linear], dense)

    # every fourth layer sees everything; of fewer than four the last does
    period = min(size.layers, 4)
    kinds = layer_types(
        config, size.layers, default=lambda index: LINEAR if (index + 1) % period else "full_attention"
    )
    return text_arch(
        config, name, style=style, size=size, layers=repeat((kind == LINEAR for kind in kinds), build)
    )


def read_kimi_linear(config: Config, name: str) -> Arch:
    """Kimi Linear and K3, Ling hybrids: Kimi delta attention, latent attention every few layers."""
    bailing = config.raw.get("model_type") == "bailing_hybrid"
    config = full(config, "bailing_hybrid" if bailing else "kimi_linear")
    latent = read_latent(config)
    gated = config.flag("mla_use_output_gate", default=False)
    whole = extras(mla(latent), latent.hidden, gate="head" if bailing else "wide" if gated else "none")
    full_gate = config.part("linear_attn_config").flag("use_full_rank_gate", default=False)
    delta = kimi_delta(delta_sizes(config), low_rank=not bailing, full_gate=full_gate)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim, tied=False)
    attends = tuple(
        (delta if kind == LINEAR else whole) for kind in kinds(config, size.layers, bailing=bailing)
    )
    mixture = Mixture(
        dense_first=1,
        latent=config.maybe("routed_expert_hidden_size") or 0,
        latent_norm=config.flag("latent_moe_use_norm", default=False),
    )
    weighed = _weigh(size.hidden) if config.raw.get("attn_res_block_size") else ()
    style = Style(family=kind_of(config, "kimi_linear"), extra=weighed * 2, outer=weighed)
    arch = read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)
    arch = with_mtp(config, arch, copies=False)
    return near_published(arch) if weighed else arch


def _weigh(hidden: int) -> tuple[Weight, ...]:
    """Attention residuals: what weighs the states of earlier blocks before a layer takes one up."""
    return (*norm(hidden), *matrix("other.connect", 1, inputs=hidden, cut=Cut.WHOLE))


def kinds(config: Config, layers: int, *, bailing: bool = False) -> list[str]:
    """Each layer's kind: listed, or counted from 1 in the publisher's own part, or by the period."""
    own = config.part("linear_attn_config")
    full_layers = {index - 1 for index in own.sizes("full_attn_layers", default=())}
    period = config.size("layer_group_size", default=6)

    def default(index: int) -> str:
        if full_layers:
            is_full = index in full_layers
        else:
            is_full = (index + 1) % period == 0 if bailing else bool(index) and index % 4 == 0
        return "full_attention" if is_full else LINEAR

    return layer_types(config, layers, default=default)


def delta_sizes(config: Config) -> Delta:
    """The dimensions of delta attention, in the publisher's own part or beside the rest."""
    own = config.part("linear_attn_config")
    heads = own.maybe("num_heads") or config.size("linear_num_heads", "num_attention_heads")
    width = own.maybe("head_dim") or config.size("linear_head_dim", "head_dim")
    kernel = own.maybe("short_conv_kernel_size")
    return Delta(
        hidden=config.size("hidden_size"),
        key_heads=heads,
        value_heads=heads,
        key_dim=width,
        value_dim=width,
        conv=kernel or config.size("linear_conv_kernel_dim", "short_conv_kernel_size"),
    )


def read_glm5_next_text(config: Config, name: str) -> Arch:
    """GLM-5.3-Flash, language part: Kimi delta attention, indexed latent attention every fourth layer."""
    latent, index = read_latent(config), read_index(config)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim)
    pooled = (
        Weight(role="position", shape=(config.size("index_kpool"), index.dim)),
        *matrix("attn.index.gate", index.dim, inputs=size.hidden, cut=Cut.WHOLE),
    )
    own = indexed(mla(latent), latent, index=index)
    made: dict[bool, Block] = {
        True: replace(own, weights=(*own.weights, *pooled)),
        False: indexed(mla(latent), latent, index=index, own=False),
    }
    delta = kimi_delta(delta_sizes(config))
    kinds = layer_types(config, size.layers, default=lambda i: LINEAR if i % 4 != 3 else "indexed_attention")
    attends = tuple(
        delta if kind == LINEAR else made[has_own]
        for kind, has_own in zip(kinds, owners(config, size.layers), strict=True)
    )
    style = Style(family="glm5_next", extra=connections(size.hidden, config.size("hc_mult")) * 2)
    return read_mixture(config, name, style=style, mixture=Mixture(dense_first=3), attends=attends, size=size)


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
        extra=(*reads, *writes) * 2, outer=reads,
    )  # fmt: skip
    period = config.size("full_attention_interval", default=4)
    kinds = layer_types(config, size.layers, default=lambda at: LINEAR if (at + 1) % period else "full")
    grams, delta = _read_grams(config, size), gated_delta(read_delta(config))
    whole = _indexed(
        config, extras(attend(size, style), size.hidden, gate="wide", gate_bias=biased), size=size
    )
    ffn = feeding(size, style, mixture=Mixture(shared_gate=True), ffn=routing(config))

    def build(key: tuple[bool, int | None]) -> Layer:
        linear, place = key
        mixing = delta if linear else whole
        return layer(size.hidden, style, _looked_up(mixing, grams, stream=stream, place=place), ffn)

    places = [grams.layers.index(at) if at in grams.layers else None for at in range(size.layers)]
    keys = zip((kind == LINEAR for kind in kinds), places, strict=True)
    arch = text_arch(config, name, style=style, size=size, layers=repeat(keys, build))
    return with_mtp(config, arch, layer=build((False, None)), copies=False)


def _indexed(config: Config, block: Block, *, size: Sizes) -> Block:
    """Attention that reads only the tokens an indexer with one head of keys picks."""
    heads = config.maybe("indexer_n_heads")
    if not heads or block.mixer is None:
        return block
    width = config.size("indexer_head_dim")
    weights = (
        *matrix("attn.index", (heads + 1) * width, inputs=size.hidden, cut=Cut.WHOLE),
        *norm(width) * 2,
    )
    mixer = replace(block.mixer, index_dim=width, topk_tok=config.maybe("indexer_budget"))
    return Block((*block.weights, *weights), mixer=mixer)


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
