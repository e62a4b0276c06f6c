"""Grok 1 and 2: four norms a layer, 8 experts, in the second a dense feed-forward beside them."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.assumed import near_published
from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, feed, layer, read_sizes, text_arch
from rigright.arch.experts import Mixture, moe, routing
from rigright.arch.record import Arch

MATCHES = ("grok", "grok-1", "grok_1", "grok1", "grok2", "Grok1ForCausalLM", "Grok1ModelForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Grok config."""
    style, size = Style(family="grok", norms=4), read_sizes(config)
    ffn = routing(config, shared=False)
    experts = moe(size.hidden, ffn, mixture=Mixture())
    parts = [attend(size, style), experts]
    if config.flag("residual_moe", default=False):
        parts = [
            parts[0],
            replace(experts, ffn=replace(ffn, shared_width=size.width)),
            Block(feed(size, style).weights),
        ]
    same = layer(size.hidden, style, *parts)
    return near_published(text_arch(config, name, style=style, size=size, layers=(same,) * size.layers))
