"""BitNet b1.58: Llama with a norm inside each part."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder, read_sizes
from rigright.arch.record import Arch

MATCHES = ("bitnet", "BitNetForCausalLM", "BitnetForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a BitNet config."""
    size = read_sizes(config)
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="bitnet",
        qkv_bias=biased,
        out_bias=biased,
        extra=(*norm(size.hidden), *norm(size.width)),
    )
    return read_decoder(config, name, style=style)
