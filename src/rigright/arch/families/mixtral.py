"""Mixtral and those of its shape: every layer with experts, grouped-query attention, no biases."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch

MATCHES = ("mixtral", "MixtralForCausalLM", "solar_open", "SolarOpenForCausalLM", "minimax_text_moe")


def read(config: Config, name: str) -> Arch:
    """Read a Mixtral config."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family=kind,
        qkv_bias=biased,
        out_bias=biased and kind != "solar_open",
        windows=windows(config, always),
    )
    return read_mixture(config, name, style=style, mixture=Mixture(shared=kind == "solar_open"))
