"""Code World Model: Llama, one layer without a window to three with."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("cwm", "CwmForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(
        family="cwm",
        ffn_bias=config.flag("mlp_bias", default=False),
        windows=windows(config, lambda index: bool(index % 4)),
    )
    return read_decoder(config, name, style=style)
