"""ERNIE 4.5 MoE: experts in a span of layers, shared experts, a learned shift of the router's scores."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("ernie4_5_moe", "Ernie4_5_MoeForCausalLM", "Ernie4_5_MoEForCausalLM", "ernie4_5_vl_moe_text")


def read(config: Config, name: str) -> Arch:
    """Read an ERNIE 4.5 MoE config."""
    config = full(config, "ernie4_5_moe")
    biased = config.flag("use_bias", default=False)
    style = Style(family="ernie4_5_moe", qkv_bias=biased, out_bias=biased, ffn_bias=biased, head_bias=biased)
    return read_mixture(config, name, style=style, mixture=Mixture(correction=True, shared_bias=biased))
