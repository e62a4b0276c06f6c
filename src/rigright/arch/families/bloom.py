"""BLOOM: ALiBi, so no positions; a norm right after the token table."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.decoder import HIDDEN, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("bloom", "BloomForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a BLOOM config."""
    style = Style(
        family="bloom",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        outer=norm(config.size(*HIDDEN), bias=True),
    )
    return read_decoder(config, name, style=style)
