"""Granite 3: Llama with multipliers."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("granite", "GraniteForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="granite", qkv_bias=biased, out_bias=biased, ffn_bias=config.flag("mlp_bias", default=False)
    )
    return read_decoder(config, name, style=style)
