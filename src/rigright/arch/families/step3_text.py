"""Step-3's language part: compressed queries, one key-value head, experts in listed layers, one shared."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.assumed import near_published
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_sizes
from rigright.arch.experts import read_mixture
from rigright.arch.record import Arch, Cut

MATCHES = ("step3_text", "Step3TextForCausalLM", "Step3ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Step-3 text config."""
    size = read_sizes(config, kv_heads=config.size("num_attention_groups", "num_key_value_heads", default=1))
    rank, rows = config.size("share_q_dim"), size.heads * size.head_dim
    whole = blocks.attention(size.hidden, blocks.gqa(size.heads, size.kv_heads, head_dim=size.head_dim))
    weights = (
        *matrix("attn.q_a", rank, inputs=size.hidden, cut=Cut.WHOLE),
        *norm(rank),
        *matrix("attn.q_b", rows, inputs=rank, cut=Cut.OUT),
        *(weight for weight in whole.weights if weight.role != "attn.q"),
    )
    attends = (Block(weights, mixer=whole.mixer),) * size.layers
    return near_published(read_mixture(config, name, style=Style(family="step3"), attends=attends, size=size))
