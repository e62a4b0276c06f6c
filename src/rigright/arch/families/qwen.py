"""Qwen, the first: fused q, k and v with a bias, a feed-forward of half the width the config names."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("qwen", "QWenLMHeadModel")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = not config.flag("no_bias", default=True)
    style = Style(family="qwen", qkv_bias=True, out_bias=biased, ffn_bias=biased)
    return read_decoder(config, name, style=style, width=config.size("intermediate_size") // 2)
