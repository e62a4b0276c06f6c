"""Phi-1, 1.5 and 2: attention and feed-forward side by side, biases everywhere, the head too."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder, read_sizes
from rigright.arch.record import Arch

MATCHES = ("phi", "PhiForCausalLM", "phi-msft", "MixFormerSequentialForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    normed = config.flag("qk_layernorm", default=False)
    style = Style(
        family="phi",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norms=1,
        norm="layer",
        head_bias=True,
        extra=norm(read_sizes(config).head_dim, bias=True) * 2 if normed else (),
    )
    return read_decoder(config, name, style=style)
