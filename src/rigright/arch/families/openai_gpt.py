"""GPT, the first: norms after each part, none at the end."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("openai-gpt", "OpenAIGPTLMHeadModel")


def read(config: Config, name: str) -> Arch:
    """Read a GPT config."""
    style = Style(
        family="openai_gpt",
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        gated=False,
        norm="layer",
        last_norm=False,
        positions=config.size(*CONTEXT, default=512),
    )
    return read_decoder(config, name, style=style)
