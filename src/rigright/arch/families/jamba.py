"""Jamba: Mamba layers, attention every eighth, experts in every second."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, layer, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, feeding, routing
from rigright.arch.families.mamba import dt_rank
from rigright.arch.plan import repeat, sparse_layers
from rigright.arch.record import Arch, Layer
from rigright.arch.ssm import Mamba, mamba

MATCHES = ("jamba", "JambaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Jamba config."""
    config = full(config, "jamba")
    style, size = Style(family="jamba"), read_sizes(config)
    hidden = config.size("hidden_size")
    mixers = {
        True: attend(size, style),
        False: mamba(
            Mamba(
                hidden=hidden,
                inner=config.size("mamba_expand") * hidden,
                state=config.size("mamba_d_state"),
                conv=config.size("mamba_d_conv"),
                dt_rank=dt_rank(config, "mamba_dt_rank", hidden=hidden),
                bias=config.flag("mamba_proj_bias", default=False),
                conv_bias=config.flag("mamba_conv_bias", default=True),
                inner_norms=True,
            )
        ),
    }
    ffns = {True: routing(config, shared=False), False: None}

    def build(key: tuple[bool, bool]) -> Layer:
        attends, is_sparse = key
        feed = feeding(size, style, mixture=Mixture(), ffn=ffns[is_sparse])
        return layer(size.hidden, style, mixers[attends], feed)

    period, offset = config.size("attn_layer_period"), config.whole("attn_layer_offset")
    attends = (index % period == offset for index in range(size.layers))
    many = config.whole("num_experts") > 1
    sparse = sparse_layers(config, size.layers) if many else [False] * size.layers
    return text_arch(
        config, name, style=style, size=size, layers=repeat(zip(attends, sparse, strict=True), build)
    )
