"""Phi-1, 1.5 and 2: attention and feed-forward side by side, biases everywhere, the head too."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("phi", "PhiForCausalLM", "phi-msft", "MixFormerSequentialForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(
        family="phi",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norms=1,
        norm="layer",
        head_bias=True,
        qk_norm="head" if config.flag("qk_layernorm", default=False) else "none",
    )
    return read_decoder(config, name, style)
