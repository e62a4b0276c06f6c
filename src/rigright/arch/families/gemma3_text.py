"""Gemma 3: Gemma 2 with norms on q and k, five layers with a window to one without."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("gemma3_text", "Gemma3ForCausalLM", "Gemma3TextModel")


def read(config: Config, name: str) -> Arch:
    """Read a Gemma 3 text config."""
    biased = config.flag("attention_bias", default=False)
    window = config.maybe("sliding_window")
    if window and config.raw.get("use_bidirectional_attention"):
        config = config.over(sliding_window=window // 2 + 1)
    slides = every(config.size("sliding_window_pattern", "_sliding_window_pattern", default=6))
    style = Style(
        family="gemma3_text",
        qkv_bias=biased,
        out_bias=biased,
        norms=4,
        qk_norm="head",
        windows=windows(config, slides),
    )
    return read_decoder(config, name, style=style)
