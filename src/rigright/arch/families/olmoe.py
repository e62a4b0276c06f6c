"""OLMoE and FlexOlmo: norms over all of q and of k; the norms of FlexOlmo stand after its blocks."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("olmoe", "OlmoeForCausalLM", "flex_olmo", "FlexOlmoForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an OLMoE config."""
    kind = str(config.raw.get("model_type"))
    config = full(config, kind if kind in MATCHES else "olmoe")
    biased = config.flag("attention_bias", default=False)
    style = Style(family="olmoe", qkv_bias=biased, out_bias=biased, qk_norm="all")
    return read_mixture(config, name, style, Mixture(shared=False))
