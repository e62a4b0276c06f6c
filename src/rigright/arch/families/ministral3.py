"""Ministral 3: Mistral with a head width of its own."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("ministral3", "Ministral3ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    config = config.over(layer_types=None)
    style = Style(family="ministral3", windows=windows(config, always))
    return read_decoder(config, name, style=style)
