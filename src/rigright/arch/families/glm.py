"""GLM-4 9B: Llama with biases on q, k and v."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("glm", "GlmForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(family="glm", qkv_bias=config.flag("attention_bias", default=True))
    return read_decoder(config, name, style=style)
