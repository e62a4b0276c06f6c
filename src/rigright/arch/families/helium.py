"""Helium: Llama with a head width of its own."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("helium", "HeliumForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(family="helium", qkv_bias=config.flag("attention_bias", default=False))
    return read_decoder(config, name, style=style)
