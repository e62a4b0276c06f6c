"""Gemma 2: norms before and after each part, every second layer with a window."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("gemma2", "Gemma2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="gemma2", qkv_bias=biased, out_bias=biased, norms=4, windows=windows(config, every(2))
    )
    return read_decoder(config, name, style=style)
