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
    # what the config leaves out of the delta nets follows from its attention
    heads = config.size("linear_num_key_heads", "num_attention_heads")
    width = config.maybe("linear_key_head_dim") or 3 * config.size("hidden_size") // (4 * heads)
    told = config.over(
        linear_num_key_heads=heads,
        linear_num_value_heads=config.size("linear_num_value_heads", "num_attention_heads"),
        linear_key_head_dim=width,
        linear_value_head_dim=config.maybe("linear_value_head_dim") or 2 * width,
    )
    mixers = {True: gated_delta(read_delta(told)), False: attend(size, style)}
    dense = feed(size, style)

    def build(is_linear: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        return layer(size.hidden, style, mixers[is_linear], dense)

    # every fourth layer sees everything; of fewer than four the last does
    period = min(size.layers, 4)
    kinds = layer_types(
        config, size.layers, default=lambda index: LINEAR if (index + 1) % period else "full_attention"
    )
    return text_arch(
        config, name, style=style, size=size, layers=repeat((kind == LINEAR for kind in kinds), build)
    )
