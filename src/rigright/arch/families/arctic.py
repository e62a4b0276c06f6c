"""Snowflake Arctic: a dense feed-forward in every layer and experts beside it in every second."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.assumed import near_published
from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, feed, layer, norm, read_sizes, text_arch
from rigright.arch.experts import Mixture, moe, routing
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Layer

MATCHES = ("arctic", "ArcticForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read an Arctic config."""
    style, size = Style(family="arctic"), read_sizes(config)
    attention = attend(size, style)
    ffn = routing(config, shared=False)
    residual = config.flag("use_residual", "parallel_attn_mlp_res", default=True)
    beside = (
        Block((*norm(size.hidden, style), *feed(size, style, width=size.hidden).weights))
        if residual
        else Block(())
    )
    ffn = replace(ffn, shared_width=size.hidden if residual else 0)
    experts = replace(moe(size.hidden, replace(ffn, shared_width=0), mixture=Mixture()), ffn=ffn)

    def build(is_sparse: bool) -> Layer:  # noqa: FBT001 (a key of `repeat`)
        if not is_sparse:
            return layer(size.hidden, style, attention, feed(size, style))
        return layer(size.hidden, style, attention, experts, beside)

    period = config.size("moe_layer_frequency", default=1 if residual else 2)
    sparse = ((index + 1) % period == 0 for index in range(size.layers))
    return near_published(text_arch(config, name, style=style, size=size, layers=repeat(sparse, build)))
