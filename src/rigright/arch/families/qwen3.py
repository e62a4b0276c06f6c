"""Qwen3: Llama with a norm on each head of q and k."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, late_windows, read_decoder
from rigright.arch.record import Arch

MATCHES = ("qwen3", "Qwen3ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Qwen3 config."""
    biased = config.flag("attention_bias", default=False)
    windows = late_windows(config)
    style = Style(family="qwen3", qkv_bias=biased, out_bias=biased, qk_norm="head", windows=windows)
    return read_decoder(config, name, style=style)
