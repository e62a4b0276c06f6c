"""Hunyuan-Large: pairs of layers share one cache: the second has queries of its own, no keys and values."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.assumed import near_published
from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, read_sizes
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("hunyuan", "HunYuanForCausalLM", "HunYuanMoEForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Hunyuan-Large config."""
    biased = config.flag("attention_bias", default=False)
    normed = config.flag("use_qk_norm", default=False)
    style = Style(family="hunyuan", qkv_bias=biased, out_bias=biased, qk_norm="head" if normed else "none")
    size = read_sizes(config)
    own = attend(size, style)
    group = config.size("cla_share_factor", default=1) if config.flag("use_cla", default=False) else 1
    attends = tuple(own if index % group == 0 else _guest(own) for index in range(size.layers))
    mixture = Mixture(shared=config.flag("use_mixed_mlp_moe", default=True))
    return near_published(
        read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)
    )


def _guest(own: Block) -> Block:
    """Attention that reads an earlier layer's keys and values."""
    if own.mixer is None:
        return own
    kept = [weight for weight in own.weights if not weight.role.startswith(("attn.k", "attn.v"))]
    norms = [weight for weight in kept if weight.role == "norm"]
    if norms:
        kept.remove(norms[-1])  # the norm on k went with k
    return Block(tuple(kept), mixer=replace(own.mixer, shares_cache=True))
