"""Gemma: Llama with heads wider than its width shared out, the head tied."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("gemma", "GemmaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="gemma", qkv_bias=biased, out_bias=biased)
    return read_decoder(config, name, style=style)
