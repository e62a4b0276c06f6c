"""OLMo 2: norms after each part, and over all of q and of k."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("olmo2", "Olmo2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="olmo2", qkv_bias=biased, out_bias=biased, qk_norm="all")
    return read_decoder(config, name, style=style)
