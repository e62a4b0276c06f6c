"""Baichuan 1 and 2: Llama with fused q, k and v."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("baichuan", "BaichuanForCausalLM", "BaiChuanForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    return read_decoder(config, name, style=Style(family="baichuan"))
