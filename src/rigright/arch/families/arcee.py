"""Arcee AFM: Llama without a gate."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("arcee", "ArceeForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="arcee",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        gated=False,
    )
    return read_decoder(config, name, style=style)
