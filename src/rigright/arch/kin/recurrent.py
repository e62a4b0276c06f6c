"""Short convolutions and gated recurrences beside attention."""

from __future__ import annotations

from collections.abc import Callable

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import (
    SLIDING,
    Style,
    attend,
    layer,
    layer_types,
    read_sizes,
    text_arch,
)
from rigright.arch.decoder import feed as dense
from rigright.arch.experts import Mixture, extras, feeding, routing
from rigright.arch.families import kind_of
from rigright.arch.plan import repeat, sparse_layers
from rigright.arch.record import Arch, Cut, Layer, Weight
from rigright.arch.ssm import rg_lru, short_conv, vector
from rigright.base.record import replace


def read_lfm2(config: Config, name: str) -> Arch:
    """LFM2 and LFM3: gated short convolutions, attention in some layers, experts in some editions."""
    kind = kind_of(config, "lfm2")
    third = kind == "lfm3"
    biased = config.flag("attention_bias", default=False)
    norms = 4 if third and config.flag("use_sandwich_norm", default=True) else 2
    style = Style(family=kind, qk_norm="head", norms=norms, qkv_bias=biased, out_bias=biased)
    tied = config.flag("tie_embedding", "tie_word_embeddings", default=True)
    size = replace(read_sizes(config, tied=tied), width=_lfm2_width(config))
    gate = "head" if third and config.flag("use_attention_gate", default=True) else "none"
    window = config.maybe("sliding_window")
    biased_conv = config.flag("conv_bias", default=False)

    def mixing(kind: str) -> Block:
        if kind == "conv":
            return short_conv(size.hidden, config.size("conv_L_cache"), bias=biased_conv)
        whole = attend(size, style, window_tok=window if kind in SLIDING else None)
        return extras(whole, size.hidden, gate=gate)

    def build(key: tuple[str, bool]) -> Layer:
        ffn = routing(config, shared=False) if key[1] else None
        return layer(size.hidden, style, mixing(key[0]), feeding(size, style, mixture=Mixture(), ffn=ffn))

    kinds = layer_types(config, size.layers, default=_default(config))
    sparse = sparse_layers(config, size.layers) if kind == "lfm2_moe" else [False] * size.layers
    return text_arch(
        config, name, style=style, size=size, layers=repeat(zip(kinds, sparse, strict=True), build)
    )


def _default(config: Config) -> Callable[[int], str]:
    if config.raw.get("model_type") == "lfm3":
        return _third
    value = config.raw.get("full_attn_idxs")
    chosen = None if value is None else set(config.sizes("full_attn_idxs"))
    return lambda index: "full_attention" if chosen is None or index in chosen else "conv"


def _third(index: int) -> str:
    """LFM3's own order: convolutions, and between them whole and sliding attention by turns."""
    if index < 2 or index % 2:
        return "conv"
    return "full_attention" if index % 4 == 2 else "sliding_attention"


def _lfm2_width(config: Config) -> int:
    """The feed-forward's width, which LFM2 derives: two thirds, times a factor, up to a multiple."""
    width = config.size("block_ff_dim", "intermediate_size")
    if not config.flag("block_auto_adjust_ff_dim", default=False):
        return width
    width = int(config.number("block_ffn_dim_multiplier", default=1) * int(2 * width / 3))
    multiple = config.size("block_multiple_of", default=256)
    return -(-width // multiple) * multiple


def read_recurrent_gemma(config: Config, name: str) -> Arch:
    """RecurrentGemma: gated linear recurrences, a window of attention every third layer."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="recurrent_gemma", qkv_bias=biased, out_bias=True, ffn_bias=True)
    size = read_sizes(
        config,
        tied=config.flag("tie_word_embeddings", default=True),
        width=config.size("intermediate_size") // 2,
    )
    width = config.maybe("lru_width") or size.hidden
    feed = dense(size, style)
    mixers = {
        True: attend(size, style, window_tok=config.size("attention_window_size")),
        False: rg_lru(size.hidden, width, heads=size.heads, kernel=config.size("conv1d_width")),
    }

    def build(attends: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        return layer(size.hidden, style, mixers[attends], feed)

    kinds = config.items("block_types", "_block_types", default=("recurrent", "recurrent", "attention"))
    attends = (kinds[index % len(kinds)] == "attention" for index in range(size.layers))
    return text_arch(config, name, style=style, size=size, layers=repeat(attends, build))


def read_zaya(config: Config, name: str) -> Arch:
    """Zaya: attention on convolved queries and keys, one expert a token or none, a deep router."""
    size = read_sizes(
        config,
        tied=config.flag("tie_word_embeddings", default=True),
        width=config.size("moe_intermediate_size"),
    )
    scales = vector("other.scale", size.hidden)
    style = Style(
        family="zaya",
        extra=scales * 8,
        outer=scales * 2,
        head_bias=config.flag("lm_head_bias", default=False),
    )
    window = config.maybe("sliding_window")
    kinds = layer_types(config, size.layers, default=lambda _: "hybrid")

    def build(key: tuple[str, bool]) -> Layer:
        sliding = window if key[0] == "hybrid_sliding" else None
        # half of the values come from the token before; queries and keys pass two short convolutions
        biased = config.flag("attention_bias", default=False)
        mixer = blocks.gqa(size.heads, size.kv_heads, head_dim=size.head_dim, window_tok=sliding)
        whole = blocks.attention(size.hidden, mixer, qkv_bias=biased)
        near, far = config.size("cca_time0"), config.size("cca_time1")
        rows = (size.heads + size.kv_heads) * size.head_dim
        weights = (
            *vector("mixer.conv", rows, 1, near),
            *vector("mixer.conv.bias", rows),
            *vector("mixer.conv", rows, size.head_dim, far),
            *vector("mixer.conv.bias", rows),
            *vector("attn.scale", size.kv_heads),
        )
        late = size.kv_heads * size.head_dim // 2  # values of the token before
        kept = rows * (near + far - 2) + late
        return layer(
            size.hidden,
            style,
            Block((*whole.weights, *weights), mixer=replace(mixer, state16_elems=kept)),
            _experts(config, first=key[1]),
        )

    keys = ((kind, index == 0) for index, kind in enumerate(kinds))
    return text_arch(config, name, style=style, size=size, layers=repeat(keys, build))


def _experts(config: Config, *, first: bool) -> Block:
    """The router is a small network that also hears the router of the layer before."""
    hidden, low = config.size("hidden_size"), config.size("router_hidden_size")
    ffn = routing(config, shared=False)
    block = blocks.experts(hidden, ffn)
    weights: tuple[Weight, ...] = (
        *(weight for weight in block.weights if weight.role != "router"),
        *matrix("router.a", low, inputs=hidden, cut=Cut.WHOLE, bias=True),
        *(() if first else (Weight(role="router.scale", shape=(low,)),)),
        *norm(low),
        *matrix("router.b", low, inputs=low, cut=Cut.WHOLE, bias=True) * 2,
        *matrix("router", ffn.experts + 1, inputs=low, cut=Cut.WHOLE),
    )
    return Block(weights, ffn=block.ffn)
