"""GLM-5.3-Flash, language part: Kimi delta attention, indexed latent attention every fourth layer."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block, matrix
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer_types, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.families.deepseek_v32 import owners
from rigright.arch.families.kimi_linear import delta_sizes
from rigright.arch.hyper import connections
from rigright.arch.latent import indexed, mla, read_index, read_latent
from rigright.arch.linear import kimi_delta
from rigright.arch.record import Arch, Cut, Weight

MATCHES = ("glm5_next_text", "Glm5NextForCausalLM")
LINEAR = "linear_attention"


def read(config: Config, name: str) -> Arch:
    """Read a GLM-5.3-Flash text config."""
    config = full(config, "glm5_next_text")
    latent, index = read_latent(config), read_index(config)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim)
    pooled = (
        Weight(role="position", shape=(config.size("index_kpool"), index.dim)),
        *matrix("attn.index.gate", index.dim, inputs=size.hidden, cut=Cut.WHOLE),
    )
    own = indexed(mla(latent), latent, index=index)
    made: dict[bool, Block] = {
        True: replace(own, weights=(*own.weights, *pooled)),
        False: indexed(mla(latent), latent, index=index, own=False),
    }
    delta = kimi_delta(delta_sizes(config))
    kinds = layer_types(config, size.layers, default=lambda i: LINEAR if i % 4 != 3 else "indexed_attention")
    attends = tuple(
        delta if kind == LINEAR else made[has_own]
        for kind, has_own in zip(kinds, owners(config, size.layers), strict=True)
    )
    style = Style(family="glm5_next", extra=connections(size.hidden, config.size("hc_mult")) * 2)
    return read_mixture(config, name, style=style, mixture=Mixture(dense_first=3), attends=attends, size=size)
