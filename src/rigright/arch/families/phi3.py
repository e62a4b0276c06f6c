"""Phi-3, 3.5 and 4: Llama with fused matrices and one window over every layer."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("phi3", "Phi3ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    config = config.over(layer_types=None)
    style = Style(family="phi3", windows=windows(config, always))
    return read_decoder(config, name, style=style)
