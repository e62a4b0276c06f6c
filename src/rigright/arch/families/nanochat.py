"""nanochat: no weights in its norms, no gate."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("nanochat", "NanoChatForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="nanochat", qkv_bias=biased, out_bias=biased, gated=False, norm="none")
    return read_decoder(config, name, style=style)
