"""OLMo: Llama with norms that hold no weights."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("olmo", "OlmoForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="olmo", qkv_bias=biased, out_bias=biased, norm="none")
    return read_decoder(config, name, style=style)
