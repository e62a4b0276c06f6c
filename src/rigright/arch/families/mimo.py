"""MiMo: Qwen2 with one layer more that predicts the token after next."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, late_windows, read_decoder
from rigright.arch.record import Arch

MATCHES = ("mimo", "MiMoForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(
        family="mimo", qkv_bias=config.flag("attention_bias", default=True), windows=late_windows(config)
    )
    return read_decoder(config, name, style)
