"""gpt-oss: biases everywhere, a learned sink a head, every other layer with a sliding window."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("gpt_oss", "GptOssForCausalLM", "openai_privacy_filter")


def read(config: Config, name: str) -> Arch:
    """Read a gpt-oss config."""
    config = full(config, "gpt_oss")
    biased = config.flag("attention_bias", default=True)
    style = Style(family="gpt_oss", qkv_bias=biased, out_bias=biased, windows=windows(config, every(2)))
    mixture = Mixture(router_bias=True, expert_bias=True, sinks=True, shared=False)
    return read_mixture(config, name, style=style, mixture=mixture)
