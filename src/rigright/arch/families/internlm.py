"""InternLM, the first, and openPangu: Llama with biases on q, k, v and o."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("internlm", "InternLMForCausalLM", "PanguEmbedded", "PanguEmbeddedForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    biased = config.flag("bias", "attention_bias", default=True)
    return read_decoder(config, name, style=Style(family="internlm", qkv_bias=biased, out_bias=biased))
