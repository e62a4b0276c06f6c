"""Qwen1.5-MoE and Qwen2-MoE: biases on q, k, v; a gated shared expert beside the routed ones."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, windows
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("qwen2_moe", "Qwen2MoeForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Qwen2-MoE config."""
    config = full(config, "qwen2_moe")
    slides = config.flag("use_sliding_window", default=False)
    last = config.whole("max_window_layers", default=0)
    style = Style(
        family="qwen2_moe",
        qkv_bias=config.flag("qkv_bias", default=True),
        windows=windows(config, lambda index: index % 2 == 0 and index < last) if slides else (),
    )
    return read_mixture(config, name, style=style, mixture=Mixture(shared_gate=True))
