"""MiniMax-M3's language part: grouped-query attention that reads the blocks an indexer chose."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.plan import listed
from rigright.arch.record import Arch, Cut

MATCHES = (
    "minimax_m3",
    "MiniMaxM3ForCausalLM",
    "MiniMaxM3SparseForCausalLM",
    "minimax_m3_vl_text",
    "minimax_m3_text",
)
SPARSE = "minimax_m3_sparse"
_OWN_KEYS = {
    "sparse_num_index_heads": "index_n_heads",
    "sparse_index_dim": "index_head_dim",
    "sparse_block_size": "index_block_size",
    "sparse_topk_blocks": "index_topk_blocks",
}


def read(config: Config, name: str) -> Arch:
    """Read a MiniMax-M3 text config."""
    own = config.part("sparse_attention_config")
    config = full(config, "minimax_m3_vl_text")
    config = config.over(**{new: own.raw[old] for old, new in _OWN_KEYS.items() if old in own.raw})
    style = Style(family="minimax_m3", qk_norm="head")
    size = read_sizes(config, width=config.size("dense_intermediate_size"))
    whole = attend(size, style)
    sparse = _indexed(config, whole)
    attends = tuple(sparse if is_sparse else whole for is_sparse in _chosen(config, own, layers=size.layers))
    return read_mixture(config, name, style=style, mixture=Mixture(), attends=attends, size=size)


def _chosen(config: Config, own: Config, *, layers: int) -> list[bool]:
    kinds = listed(config, "layer_types", layers=layers)
    if kinds:
        return [kind == SPARSE for kind in kinds]
    told = listed(own, "sparse_attention_freq", layers=layers)
    return [bool(kind) for kind in told] if told else [False] * layers


def _indexed(config: Config, whole: Block) -> Block:
    """Attention with an indexer of its own: queries and one key a token, normed, in blocks of tokens."""
    if whole.mixer is None:
        return whole
    hidden, width = config.size("hidden_size"), config.size("index_head_dim")
    weights = (
        *matrix("attn.index.q", config.size("index_n_heads") * width, inputs=hidden, cut=Cut.WHOLE),
        *matrix("attn.index.k", width, inputs=hidden, cut=Cut.WHOLE),
        *(norm(width) * 2),
    )
    read_tok = config.size("index_topk_blocks") * config.size("index_block_size")
    mixer = replace(whole.mixer, index_dim=width, topk_tok=read_tok)
    return Block((*whole.weights, *weights), mixer=mixer)
