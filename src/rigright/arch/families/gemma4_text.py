"""Gemma 4: wide global heads, small token tables for every layer, shared caches, perhaps experts."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import Sizes, Style, every, layer_types, read_sizes, text_arch
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Ffn, Layer, Weight
from rigright.arch.sharing import borrow, per_layer_tables, shared_attention

MATCHES = ("gemma4_text", "Gemma4ForCausalLM", "gemma4_unified_text", "Gemma4UnifiedForCausalLM")
FULL = "full_attention"


def read(config: Config, name: str) -> Arch:
    """Read a Gemma 4 text config."""
    size = read_sizes(config)
    slides = every(6)
    kinds = layer_types(
        config, size.layers, default=lambda index: "sliding_attention" if slides(index) else FULL
    )
    kinds[-1] = FULL
    first_borrower = size.layers - config.whole("num_kv_shared_layers", default=0)
    keys = ((kind, index >= first_borrower) for index, kind in enumerate(kinds))
    layers = repeat(keys, lambda key: _layer(config, size, kind=key[0], borrows=key[1]))
    style = Style(family="gemma4_text", outer=per_layer_tables(config, size))
    return text_arch(config, name, style=style, size=size, layers=layers)


def _layer(config: Config, size: Sizes, *, kind: str, borrows: bool) -> Layer:
    # global layers have wider heads, perhaps fewer of them, and perhaps no values of their own
    whole = kind == FULL
    alike = whole and config.flag("attention_k_eq_v", default=False)
    fewer = config.maybe("num_global_key_value_heads") if alike else None
    head_dim = config.size("global_head_dim", default=512) if whole else size.head_dim
    window = None if whole else config.maybe("sliding_window")
    mixer = blocks.gqa(size.heads, fewer or size.kv_heads, head_dim=head_dim, window_tok=window)
    attention = shared_attention(config, size.hidden, mixer=mixer, values=not alike)
    attention = borrow(attention) if borrows else attention
    double = borrows and config.flag("use_double_wide_mlp", default=False)
    parts = [blocks.dense(size.hidden, size.width * (2 if double else 1))]
    moe = config.flag("enable_moe_block", default=False)
    inner = config.whole("hidden_size_per_layer_input", default=0)
    return Layer(
        weights=(
            *attention.weights,
            *(weight for part in parts for weight in part.weights),
            *(_experts(config, size).weights if moe else ()),
            *blocks.norm(size.hidden) * (7 if moe else 4),
            *(blocks.matrix("ffn.gate", inner, inputs=size.hidden, cut=Cut.WHOLE) if inner else ()),
            *(blocks.matrix("project", size.hidden, inputs=inner, cut=Cut.WHOLE) if inner else ()),
            *(blocks.norm(size.hidden) if inner else ()),
        ),
        mixer=attention.mixer,
        ffn=_experts(config, size).ffn if moe else parts[0].ffn,
    )


def _experts(config: Config, size: Sizes) -> Block:
    """Routed experts beside the dense feed-forward."""
    ffn = Ffn(
        width=config.size("moe_intermediate_size"),
        gated=True,
        experts=config.size("num_experts"),
        per_tok=config.size("top_k_experts", "num_experts_per_tok", default=1),
    )
    routed = blocks.experts(size.hidden, ffn)
    scales = (Weight(role="router", shape=(size.hidden,)), Weight(role="router", shape=(ffn.experts,)))
    return Block((*routed.weights, *scales), ffn=ffn)
