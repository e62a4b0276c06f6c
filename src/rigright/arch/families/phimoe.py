"""Phi-3.5-MoE: LayerNorms with shifts, biases on attention and head."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("phimoe", "PhimoeForCausalLM", "PhiMoEForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Phi-MoE config."""
    config = full(config, "phimoe")
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="phimoe",
        qkv_bias=biased,
        out_bias=biased,
        norm="layer",
        head_bias=config.flag("lm_head_bias", default=False),
        windows=windows(config, always),
    )
    return read_mixture(config, name, style=style, mixture=Mixture(shared=False))
