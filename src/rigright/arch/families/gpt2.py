"""GPT-2, and GPT-SW3 and Cerebras-GPT with it."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("gpt2", "GPT2LMHeadModel", "GPT2Model", "gpt-sw3", "GPTSw3")


def read(config: Config, name: str) -> Arch:
    """Read a GPT-2 config."""
    style = Style(
        family="gpt2",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        positions=config.size(*CONTEXT, default=1024),
    )
    return read_decoder(config, name, style=style)
