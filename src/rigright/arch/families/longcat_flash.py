"""LongCat-Flash: two latent attentions and two dense feed-forwards a layer, with experts across them."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block, matrix
from rigright.arch.config import Config
from rigright.arch.decoder import Style, feed, layer, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, moe, routing
from rigright.arch.latent import mla, read_latent
from rigright.arch.record import Arch, Cut

MATCHES = ("longcat_flash", "LongcatFlashForCausalLM", "longcat_flash_ngram")


def read(config: Config, name: str) -> Arch:
    """Read a LongCat config; each of its layers is two of ours, the second with the experts."""
    config = full(config, "longcat_flash")
    style, latent = Style(family="longcat_flash"), read_latent(config)
    blocks = config.maybe("num_layers") or config.layers("num_hidden_layers") // 2
    size = read_sizes(
        config,
        layers=2 * blocks,
        head_dim=latent.nope_dim + latent.rope_dim,
        width=config.size("ffn_hidden_size", "intermediate_size"),
    )
    attention, dense = mla(latent), feed(size, style)
    first = layer(size.hidden, style, attention, dense)
    # experts, and more places in the router than experts: a token sent there passes as it is
    ffn = routing(config, shared=False)
    ffn = replace(ffn, per_tok=min(ffn.per_tok, ffn.experts))  # the rest goes to places without an expert
    block = moe(size.hidden, ffn, mixture=Mixture())
    idle = config.whole("zero_expert_num", default=0)
    rest = tuple(weight for weight in block.weights if weight.role != "router")
    biased = config.flag("router_bias", default=False)
    experts = replace(
        block,
        weights=(
            *matrix("router", ffn.experts + idle, inputs=size.hidden, cut=Cut.WHOLE, bias=biased),
            *rest,
        ),
    )
    second = layer(size.hidden, style, attention, experts, Block(dense.weights))
    second = replace(second, ffn=replace(second.ffn, shared_width=size.width) if second.ffn else None)
    return text_arch(config, name, style=style, size=size, layers=(first, second) * blocks)
