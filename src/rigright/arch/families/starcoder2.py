"""StarCoder2: biases everywhere, no gate, one window over every layer."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, read_decoder, windows
from rigright.arch.record import Arch

MATCHES = ("starcoder2", "Starcoder2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("use_bias", default=True)
    config = config.over(layer_types=None)
    style = Style(
        family="starcoder2",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=biased,
        gated=False,
        norm="layer",
        windows=windows(config, always),
    )
    return read_decoder(config, name, style=style)
