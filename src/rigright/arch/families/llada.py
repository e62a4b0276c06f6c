"""LLaDA: a Llama that fills in masked words, under OLMo's first keys."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("llada", "LLaDAModelLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    everywhere = config.flag("include_bias", default=False)
    style = Style(
        family="llada",
        qkv_bias=everywhere or config.flag("include_qkv_bias", default=False),
        out_bias=everywhere,
        ffn_bias=everywhere,
    )
    return read_decoder(
        config,
        name,
        style=style,
        width=config.size("mlp_hidden_size"),
        vocab=config.size("embedding_size", "vocab_size"),
        tied=config.flag("weight_tying", default=False),
    )
