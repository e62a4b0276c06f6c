"""The first DeepSeek-MoE: multi-head attention, dense layers first, shared experts."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style
from rigright.arch.experts import read_mixture
from rigright.arch.record import Arch

MATCHES = ("deepseek", "DeepseekForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a DeepSeek-MoE config."""
    biased = config.flag("attention_bias", default=False)
    style = Style(family="deepseek", qkv_bias=biased, out_bias=biased)
    return read_mixture(config, name, style=style)
