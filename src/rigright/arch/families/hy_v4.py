"""Hunyuan 4: latent attention with sinks and a gate, shared indexers, hyper-connections."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, extras, read_mixture
from rigright.arch.hyper import connections, head_connection
from rigright.arch.latent import indexed, mla, read_index, read_latent
from rigright.arch.plan import listed
from rigright.arch.record import Arch

MATCHES = ("hy_v4", "HYV4ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Hunyuan 4 config."""
    config = full(config, "hy_v4")
    latent, index = read_latent(config), read_index(config)
    size = read_sizes(config, head_dim=latent.nope_dim + latent.rope_dim)
    streams = config.size("hc_mult")
    style = Style(
        family="hy_v4",
        extra=connections(size.hidden, streams, mixed=False) * 2,
        outer=head_connection(size.hidden, streams),
    )
    whole = extras(mla(latent), size.hidden, gate="wide", sinks=True)
    made = {own: indexed(whole, latent, index=index, own=own) for own in (True, False)}
    attends = tuple(made[own] for own in _owners(config, size.layers))
    return read_mixture(config, name, style=style, mixture=Mixture(dense_first=1), attends=attends, size=size)


def _owners(config: Config, layers: int) -> list[bool]:
    told = listed(config, "indexer_types", layers=layers)
    if told:
        return [kind == "full" for kind in told]
    return [index == 0 or (index - 1) % 4 == 0 for index in range(layers)]
