"""Command A MoE: attention and experts beside each other after one norm, tied head, sliding windows."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.config import Config
from rigright.arch.decoder import Style, every, read_sizes, windows
from rigright.arch.defaults import full
from rigright.arch.experts import read_mixture
from rigright.arch.record import Arch

MATCHES = ("cohere2_moe", "Cohere2MoeForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Cohere2-MoE config."""
    config = full(config, "cohere2_moe")
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="cohere2_moe",
        qkv_bias=biased,
        out_bias=biased,
        norms=1,
        windows=windows(config, every(config.size("sliding_window_pattern", default=4))),
    )
    size = read_sizes(config)
    dense = config.maybe("prefix_dense_intermediate_size") or size.width
    return read_mixture(config, name, style=style, size=replace(size, width=dense))
