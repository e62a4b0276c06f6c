"""Falcon 7B, 40B, 180B, RW and Falcon 2: one, few or all key-value heads; parts side by side or not."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import HEADS, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("falcon", "FalconForCausalLM", "RefinedWeb", "RefinedWebModel", "RWForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Falcon config."""
    new = config.flag("new_decoder_architecture", default=False)
    biased = config.flag("bias", default=False)
    if config.flag("parallel_attn", default=True):
        norms = config.size("num_ln_in_parallel_attn", default=2) if new else 1
    else:
        norms = 2
    style = Style(
        family="falcon",
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=biased,
        gated=False,
        norm="layer",
        norms=norms,
    )
    heads = config.size(*HEADS)
    if new:
        kv_heads = config.size("num_kv_heads", "n_head_kv", default=heads)
    else:
        kv_heads = 1 if config.flag("multi_query", default=True) else heads
    return read_decoder(config, name, style=style, kv_heads=kv_heads)
