"""Mistral: Llama with one window over every layer, unless it is null."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("mistral", "MistralForCausalLM", "MistralModel", "zephyr")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    # a list of layer types is not Mistral's: the class takes no notice of one
    config = config.over(layer_types=None)
    style = Style(family="mistral", windows=windows(config, always))
    return read_decoder(config, name, style=style)
