"""Phi-3 small: LayerNorm and biases everywhere, a gate, the head tied."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("phi3small", "Phi3SmallForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(family="phi3small", qkv_bias=True, out_bias=True, ffn_bias=True, norm="layer")
    tied = config.flag("tie_word_embeddings", default=True)
    width = config.size("ff_intermediate_size", "intermediate_size")
    return read_decoder(config, name, style=style, width=width, tied=tied)
