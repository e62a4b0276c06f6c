"""OLMoE and FlexOlmo: norms over all of q and of k; the norms of FlexOlmo stand after its blocks."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch

MATCHES = ("olmoe", "OlmoeForCausalLM", "flex_olmo", "FlexOlmoForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an OLMoE config."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    biased = config.flag("attention_bias", default=False)
    style = Style(family=kind, qkv_bias=biased, out_bias=biased, qk_norm="all")
    return read_mixture(config, name, style=style, mixture=Mixture(shared=False))
