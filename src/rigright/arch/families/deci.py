"""DeciLM and DeciCoder: Llama whose layers have as many key-value heads as a search found."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, feed, layer, read_sizes, text_arch
from rigright.arch.plan import repeat
from rigright.arch.record import Arch

MATCHES = ("deci", "DeciLMForCausalLM_v1", "DeciCoderForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    style = Style(family="deci")
    size = read_sizes(config)
    told = config.sizes("num_key_value_heads_per_layer", default=[size.kv_heads] * size.layers)
    sizes = [read_sizes(config, kv_heads=kv_heads) for kv_heads in told]
    layers = repeat(sizes, lambda each: layer(each.hidden, style, attend(each, style), feed(each, style)))
    return text_arch(config, name, style=style, size=size, layers=layers)
