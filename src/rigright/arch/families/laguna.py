"""Laguna and Step-3.7: norms on q and k, a gate a head, windows with heads of their own number."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import SLIDING, Style, attend, layer_types, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, extras, read_mixture
from rigright.arch.plan import listed
from rigright.arch.record import Arch

MATCHES = ("laguna", "LagunaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Laguna config."""
    config = full(config, "laguna")
    gate = "head" if config.raw.get("gating") in {True, "per-head", None} else "wide"
    told = listed(config, "num_attention_heads_per_layer", layers=config.layers("num_hidden_layers"))
    heads = tuple(head for head in told if isinstance(head, int))
    mixture = Mixture(gate=gate, correction=True, dense_first=1)
    return read_gated(config, name, family="laguna", mixture=mixture, heads=heads)


def read_gated(
    config: Config, name: str, *, family: str, mixture: Mixture, heads: tuple[int, ...] = ()
) -> Arch:
    """A decoder with an output gate, and in each layer as many heads as listed."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family=family,
        qkv_bias=biased,
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
        qk_norm="head",
    )
    size = read_sizes(config)
    kinds = layer_types(config, size.layers, default=lambda _: "full_attention")
    window = config.maybe("sliding_window")
    numbers = heads or (size.heads,) * size.layers

    def build(kind: str, number: int) -> Block:
        whole = attend(replace(size, heads=number), style, window_tok=window if kind in SLIDING else None)
        return extras(whole, size.hidden, gate=mixture.gate)

    made = {key: build(*key) for key in set(zip(kinds, numbers, strict=True))}
    attends = tuple(made[key] for key in zip(kinds, numbers, strict=True))
    return read_mixture(config, name, style=style, mixture=mixture, attends=attends, size=size)
