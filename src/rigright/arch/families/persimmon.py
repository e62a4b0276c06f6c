"""Persimmon: GPT-NeoX with a norm on each head of q and k."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder, read_sizes
from rigright.arch.record import Arch

MATCHES = ("persimmon", "PersimmonForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Persimmon config."""
    normed = config.flag("qk_layernorm", default=True)
    style = Style(
        family="persimmon",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        extra=norm(read_sizes(config).head_dim, bias=True) * 2 if normed else (),
    )
    return read_decoder(config, name, style=style)
