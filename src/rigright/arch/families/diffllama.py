"""DiffLlama: attention as the difference of two maps, weighed by four small vectors."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder, read_sizes
from rigright.arch.record import Arch, Weight

MATCHES = ("diffllama", "DiffLlamaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a DiffLlama config."""
    biased = config.flag("attention_bias", default=False)
    lambdas = (Weight(role="attn.gate", shape=(read_sizes(config).head_dim,)),) * 4
    style = Style(family="diffllama", qkv_bias=biased, out_bias=biased, extra=lambdas)
    return read_decoder(config, name, style=style)
