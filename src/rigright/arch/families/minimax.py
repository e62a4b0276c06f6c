"""MiniMax-Text-01 and M1: lightning attention, whole attention every eighth layer, 32 experts."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, layer_types, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.linear import lightning
from rigright.arch.plan import listed
from rigright.arch.record import Arch

MATCHES = (
    "minimax",
    "MiniMaxForCausalLM",
    "minimax_text_01",
    "MiniMaxText01ForCausalLM",
    "minimax_m1",
    "MiniMaxM1ForCausalLM",
)
LINEAR = "linear_attention"


def read(config: Config, name: str) -> Arch:
    """Read a MiniMax config."""
    config = full(config, "minimax")
    size, style = read_sizes(config), Style(family="minimax")
    told = listed(config, "attn_type_list", layers=size.layers)  # 1: whole attention, 0: lightning
    whole = [bool(kind) for kind in told] if told else [index % 2 == 0 for index in range(size.layers)]
    kinds = layer_types(
        config, size.layers, default=lambda index: "full_attention" if whole[index] else LINEAR
    )
    mixers = {False: attend(size, style), True: lightning(size.hidden, size.heads, head_dim=size.head_dim)}
    attends = tuple(mixers[kind == LINEAR] for kind in kinds)
    return read_mixture(config, name, style=style, mixture=Mixture(), attends=attends, size=size)
