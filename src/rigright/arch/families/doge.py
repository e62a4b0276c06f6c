"""Doge: attention that masks by its values, weighed residuals, in one edition with single-vector experts."""

from __future__ import annotations

import math

from rigright.arch import blocks
from rigright.arch.config import Config
from rigright.arch.decoder import Sizes, Style, always, read_decoder, read_sizes, windows
from rigright.arch.record import Arch, Cut, Weight

MATCHES = ("doge", "DogeForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    size = read_sizes(config)
    biased = config.flag("attention_bias", default=False)
    kv_width = size.kv_heads * size.head_dim
    extra = (
        Weight(role="attn.gate", shape=(size.kv_heads,)),
        *blocks.matrix("attn.gate", size.kv_heads, inputs=kv_width, cut=Cut.WHOLE, bias=biased),
        *(Weight(role="norm", shape=(size.hidden,)),) * 2,
        *(_vectors(config, size) if config.flag("is_moe", default=False) else ()),
    )
    style = Style(
        family="doge",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        qk_norm="head",
        windows=windows(config, always),
        extra=extra,
    )
    return read_decoder(config, name, style=style)


def _vectors(config: Config, size: Sizes) -> tuple[Weight, ...]:
    """Experts of one vector in and one out, found by two keys."""
    experts = config.size("num_experts")
    used = min(config.size("num_experts_per_tok"), experts)
    return (
        *blocks.matrix("router", 2 * math.isqrt(experts), inputs=size.hidden, cut=Cut.WHOLE),
        Weight(role="expert.down", shape=(size.hidden,), cut=Cut.EXPERT, copies=experts, used=used),
        Weight(role="expert.up", shape=(size.hidden,), cut=Cut.EXPERT, copies=experts, used=used),
    )
