"""SantaCoder and StarCoder: GPT-2 with one key-value head for all."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, HEADS, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("gpt_bigcode", "GPTBigCodeForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a GPT-BigCode config."""
    style = Style(
        family="gpt_bigcode",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        positions=config.size(*CONTEXT, default=1024),
    )
    single = config.flag("multi_query", default=True)
    return read_decoder(config, name, style=style, kv_heads=1 if single else config.size(*HEADS))
