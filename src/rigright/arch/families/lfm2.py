"""LFM2 and LFM3: gated short convolutions, attention in some layers, experts in some editions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import SLIDING, Style, attend, layer, layer_types, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, extras, feeding, routing
from rigright.arch.plan import kind_of, repeat, sparse_layers
from rigright.arch.record import Arch, Layer
from rigright.arch.ssm import short_conv

MATCHES = (
    "lfm2",
    "Lfm2ForCausalLM",
    "LFM2ForCausalLM",
    "lfm2_moe",
    "Lfm2MoeForCausalLM",
    "lfm3",
    "Lfm3ForCausalLM",
)


def read(config: Config, name: str) -> Arch:
    """Read an LFM config."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    third = kind == "lfm3"
    biased = config.flag("attention_bias", default=False)
    norms = 4 if third and config.flag("use_sandwich_norm", default=True) else 2
    style = Style(family=kind, qk_norm="head", norms=norms, qkv_bias=biased, out_bias=biased)
    tied = config.flag("tie_embedding", "tie_word_embeddings", default=True)
    size = replace(read_sizes(config, tied=tied), width=_width(config))
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
    told = config.raw.get("full_attn_idxs")
    chosen = None if told is None else set(config.sizes("full_attn_idxs"))
    return lambda index: "full_attention" if chosen is None or index in chosen else "conv"


def _third(index: int) -> str:
    """LFM3's own order: convolutions, and between them whole and sliding attention by turns."""
    if index < 2 or index % 2:
        return "conv"
    return "full_attention" if index % 4 == 2 else "sliding_attention"


def _width(config: Config) -> int:
    """The feed-forward's width, which LFM2 derives: two thirds, times a factor, up to a multiple."""
    width = config.size("block_ff_dim", "intermediate_size")
    if not config.flag("block_auto_adjust_ff_dim", default=False):
        return width
    width = int(config.number("block_ffn_dim_multiplier", default=1) * int(2 * width / 3))
    multiple = config.size("block_multiple_of", default=256)
    return -(-width // multiple) * multiple
