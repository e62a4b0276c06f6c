"""EXAONE 4: norms after each part and on each head of q and k, three layers with a window to one without."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("exaone4", "Exaone4ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    told = config.raw.get("sliding_window_pattern")
    # "LLLG" names the layers of one period; a number is its length
    period = len(told) if isinstance(told, str) and told else config.size("sliding_window_pattern", default=4)
    slides = every(period)
    style = Style(family="exaone4", qk_norm="head", windows=windows(config, slides))
    return read_decoder(config, name, style=style)
