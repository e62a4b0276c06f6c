"""MiniCPM 1, 2 and 4: Llama with multipliers, in one edition with experts."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, layer, read_decoder, read_sizes, text_arch
from rigright.arch.record import Arch, Ffn

MATCHES = ("minicpm", "MiniCPMForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="minicpm", qkv_bias=biased, out_bias=biased)
    tied = config.flag("tie_word_embeddings", default=True)
    count = config.whole("num_experts", default=0)
    if not count:
        return read_decoder(config, name, style=style, tied=tied)
    size = read_sizes(config, tied=tied)
    routed = Ffn(
        width=size.width, gated=True, experts=count, per_tok=config.size("num_experts_per_tok", default=2)
    )
    each = layer(size.hidden, style, attend(size, style), blocks.experts(size.hidden, routed))
    return text_arch(config, name, style=style, size=size, layers=(each,) * size.layers)
