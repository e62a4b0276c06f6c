"""Qwen 1.5, 2, 2.5, QwQ: Llama with biases on q, k and v."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, late_windows, read_decoder
from rigright.arch.record import Arch

MATCHES = ("qwen2", "Qwen2ForCausalLM", "dream", "DreamModel")


def read(config: Config, name: str) -> Arch:
    """Read a Qwen2 config."""
    style = Style(family="qwen2", qkv_bias=True, windows=late_windows(config))
    return read_decoder(config, name, style=style)
