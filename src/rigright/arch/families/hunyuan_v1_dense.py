"""Hunyuan, dense: Llama with a norm on each head of q and k."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="hunyuan_v1_dense", qkv_bias=biased, out_bias=biased, qk_norm="head")
    return read_decoder(config, name, style=style)
