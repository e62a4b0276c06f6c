"""CTRL: positions computed, biases everywhere, a bias on the tied head."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("ctrl", "CTRLLMHeadModel")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(
        family="ctrl",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        head_bias=True,
    )
    return read_decoder(config, name, style=style)
