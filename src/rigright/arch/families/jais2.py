"""Jais 2: LayerNorm, biases everywhere, no gate."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("jais2", "Jais2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=True)
    style = Style(
        family="jais2",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=True),
        gated=False,
        norm="layer",
    )
    return read_decoder(config, name, style=style)
