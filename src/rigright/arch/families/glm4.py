"""GLM-4 0414: GLM with norms before and after each part."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("glm4", "Glm4ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(family="glm4", qkv_bias=config.flag("attention_bias", default=True), norms=4)
    return read_decoder(config, name, style=style)
