"""OLMo-Hybrid: gated delta nets, and every fourth layer attention with norms over all of q and k."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, feed, layer, layer_types, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.linear import gated_delta, read_delta
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Layer

MATCHES = ("olmo_hybrid", "OlmoHybridForCausalLM")
LINEAR = "linear_attention"


def read(config: Config, name: str) -> Arch:
    """Read an OLMo-Hybrid config."""
    config = full(config, "olmo_hybrid")
    biased = config.flag("attention_bias", default=False)
    style = Style(family="olmo_hybrid", qkv_bias=biased, out_bias=biased, qk_norm="all")
    size = read_sizes(config)
    mixers = {True: gated_delta(read_delta(config)), False: attend(size, style)}
    dense = feed(size, style)

    def build(is_linear: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        return layer(size.hidden, style, mixers[is_linear], dense)

    kinds = layer_types(config, size.layers, lambda i: LINEAR if (i + 1) % 4 else "full_attention")
    return text_arch(config, name, style, size=size, layers=repeat((kind == LINEAR for kind in kinds), build))
