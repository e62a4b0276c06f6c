"""Command R7B and A: Cohere with three layers with a window to one without."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("cohere2", "Cohere2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Cohere 2 config."""
    biased = config.flag("attention_bias", default=False)
    slides = every(config.size("sliding_window_pattern", "_sliding_window_pattern", default=4))
    style = Style(
        family="cohere2", qkv_bias=biased, out_bias=biased, norms=1, windows=windows(config, slides)
    )
    # the class takes no head width: it is always the width shared out
    return read_decoder(config.over(head_dim=None), name, style=style)
