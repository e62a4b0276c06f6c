"""Mistral Large 4, language part: latent attention with an indexer, learned scales of the scores."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.latent import Latent, indexed, mla, read_index, read_latent, read_latent_moe
from rigright.arch.plan import listed
from rigright.arch.record import Arch
from rigright.arch.ssm import vector

MATCHES = ("mistral_large4_text", "MistralLarge4ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Mistral Large 4 text config."""
    config = full(config, "mistral_large4_text").over(q_lora_rank=None)
    turning = read_latent(config)
    still = replace(turning, nope_dim=turning.nope_dim + turning.rope_dim, rope_dim=0)
    layers = config.layers("num_hidden_layers")
    told = listed(config, "no_rope_layers", layers=layers)  # 1: with positions
    turns = [bool(flag) for flag in told] if told else [bool((i + 1) % 4) for i in range(layers)]
    made = {True: _attention(config, turning), False: _attention(config, still)}
    attends = tuple(made[does] for does in turns)
    return read_latent_moe(config, name, family="mistral_large4", attends=attends, dense_first=1)


def _attention(config: Config, latent: Latent) -> Block:
    index = read_index(config)
    block = indexed(mla(latent), latent, index=index)
    scales = (
        *norm(latent.hidden, bias=True),
        *vector("attn.index.scale", index.heads) * 2,
        *vector("attn.scale", latent.heads) * 2,
    )
    return replace(block, weights=(*block.weights, *scales))
