"""Jais, the first, and BTLM: GPT-2 with a gate and ALiBi."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("jais", "JAISLMHeadModel", "btlm", "BTLMLMHeadModel")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    learnt = config.word("position_embedding_type", default="learned") == "learned"
    style = Style(
        family="jais",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=config.word("activation_function", default="gelu") == "swiglu",
        norm="layer",
        positions=config.size(*CONTEXT) if learnt else 0,
    )
    return read_decoder(config, name, style=style, tied=config.flag("tie_word_embeddings", default=True))
