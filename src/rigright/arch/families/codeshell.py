"""CodeShell: GPT-2 with rotary positions and grouped heads."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import HEADS, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("codeshell", "CodeShellForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    grouped = config.flag("group_query_attention", default=True)
    heads = config.size(*HEADS)
    style = Style(family="codeshell", qkv_bias=True, out_bias=True, ffn_bias=True, gated=False, norm="layer")
    kv_heads = config.size("num_query_groups", default=heads) if grouped else heads
    return read_decoder(config, name, style=style, kv_heads=kv_heads)
