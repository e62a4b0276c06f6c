"""Aria's language part: experts in every layer and shared experts beside them."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("aria_text", "AriaTextForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an Aria text config."""
    config = full(config, "aria_text")
    biased = config.flag("attention_bias", default=False)
    style = Style(family="aria_text", qkv_bias=biased, out_bias=biased)
    mixture = Mixture(shared_bias=config.flag("mlp_bias", default=False))
    return read_mixture(config, name, style=style, mixture=mixture)
