"""ERNIE 4.5, dense."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("ernie4_5", "Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("use_bias", default=False)
    style = Style(family="ernie4_5", qkv_bias=biased, out_bias=biased, ffn_bias=biased)
    return read_decoder(config, name, style=style)
