"""A.X-K2: latent attention with an indexer and a gate from compressed queries, norms with low-rank gates."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block, matrix
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.latent import Latent, indexed, mla, read_index, read_latent, read_latent_moe
from rigright.arch.record import Arch, Cut, Layer

MATCHES = ("axk2", "AXK2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an A.X-K2 config."""
    config = full(config, "axk2")
    latent = read_latent(config)
    whole = indexed(_gated(latent), latent, index=read_index(config))
    attends = (whole,) * config.layers("num_hidden_layers")
    arch = read_latent_moe(config, name, family="axk2", attends=attends, dense_first=1)
    rank = config.size("gated_norm_rank")
    layers = tuple(_narrow_gates(layer, latent.hidden, rank=rank) for layer in arch.trunk.layers)
    return replace(arch, towers=(replace(arch.trunk, layers=layers),))


def _gated(latent: Latent) -> Block:
    """Queries and gate come from one matrix, of the compressed queries and as many elements beside them."""
    block, rank = mla(latent), latent.q_rank or 0
    rows = latent.heads * (latent.nope_dim + latent.rope_dim + latent.value_dim)
    wide = matrix("attn.q_b", rows, inputs=2 * rank, cut=Cut.OUT)
    weights = tuple(weight for weight in block.weights if weight.role != "attn.q_b")
    return replace(block, weights=(*weights, *wide))


def _narrow_gates(layer: Layer, hidden: int, *, rank: int) -> Layer:
    """Every norm before attention has a gate, those before experts too."""
    pair = (
        *matrix("other", rank, inputs=hidden, cut=Cut.WHOLE),
        *matrix("other", hidden, inputs=rank, cut=Cut.WHOLE),
    )
    both = layer.ffn is not None and layer.ffn.experts
    return replace(layer, weights=(*layer.weights, *pair * (2 if both else 1)))
