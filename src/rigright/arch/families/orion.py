"""Orion: Llama with LayerNorm."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("orion", "OrionForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    return read_decoder(
        config, name, style=Style(family="orion", qkv_bias=biased, out_bias=biased, norm="layer")
    )
