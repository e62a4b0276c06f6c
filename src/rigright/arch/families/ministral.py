"""Ministral: Mistral whose layers take turns with a window."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("ministral", "MinistralForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(family="ministral", windows=windows(config, always))
    return read_decoder(config, name, style=style)
