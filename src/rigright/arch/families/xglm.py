"""XGLM: an OPT with positions that are computed, not learnt."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("xglm", "XGLMForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an XGLM config."""
    style = Style(family="xglm", qkv_bias=True, out_bias=True, ffn_bias=True, gated=False, norm="layer")
    return read_decoder(config, name, style=style)
