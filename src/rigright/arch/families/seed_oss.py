"""Seed-OSS: Llama with biases on q, k and v and heads of a width of their own."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("seed_oss", "SeedOssForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(
        family="seed_oss",
        qkv_bias=config.flag("attention_bias", default=True),
        out_bias=config.flag("attention_out_bias", default=False),
        ffn_bias=config.flag("mlp_bias", default=False),
    )
    return read_decoder(config, name, style=style)
