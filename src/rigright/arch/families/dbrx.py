"""DBRX: fused q, k, v, LayerNorms without shifts, 16 experts of which 4 are used."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_sizes
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("dbrx", "DbrxForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a DBRX config."""
    attention, ffn = config.part("attn_config"), config.part("ffn_config")
    size = read_sizes(
        config,
        kv_heads=attention.size("kv_n_heads", default=1),
        width=ffn.size("ffn_hidden_size", default=3584),
    )
    flat = config.over(
        moe_intermediate_size=size.width,
        num_local_experts=ffn.size("moe_num_experts", default=4),
        num_experts_per_tok=ffn.size("moe_top_k", default=1),
    )
    return read_mixture(flat, name, style=Style(family="dbrx"), mixture=Mixture(shared=False), size=size)
