"""OLMo 3: OLMo 2 with three layers with a window to one without."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("olmo3", "Olmo3ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="olmo3", qkv_bias=biased, out_bias=biased, qk_norm="all", windows=windows(config, every(4))
    )
    return read_decoder(config, name, style=style)
