"""MPT: ALiBi, no biases, norms with a scale only."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import HEADS, HIDDEN, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("mpt", "MptForCausalLM", "MPTForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an MPT config."""
    hidden = config.size(*HIDDEN)
    attention = config.part("attn_config")
    kind = attention.word("attn_type", default="multihead_attention")
    own = config.size(*HEADS)
    heads = {"multiquery_attention": 1, "grouped_query_attention": attention.size("kv_n_heads", default=own)}
    style = Style(
        family="mpt", gated=False, qk_norm="all" if attention.flag("qk_ln", default=False) else "none"
    )
    width = int(hidden * config.number("expansion_ratio", default=4))
    return read_decoder(config, name, style=style, kv_heads=heads.get(kind, own), width=width)
