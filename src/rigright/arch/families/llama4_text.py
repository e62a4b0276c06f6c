"""Llama 4, language part: attention in chunks, one expert of many and a shared one."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import Style, attend, layer_types, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.plan import listed
from rigright.arch.record import Arch, Mix

MATCHES = ("llama4_text", "Llama4ForCausalLM")
CHUNKED = "chunked_attention"


def read(config: Config, name: str) -> Arch:
    """Read a Llama 4 text config."""
    config = full(config, "llama4_text")
    if config.raw.get("num_local_experts") is None or config.raw.get("moe_layers") is None:
        config = config.over(moe_layers=None)
    biased = config.flag("attention_bias", default=False)
    style = Style(family="llama4_text", qkv_bias=biased, out_bias=biased)
    size = replace(read_sizes(config), width=config.size("intermediate_size_mlp", "intermediate_size"))
    ones = config.over(n_shared_experts=1)
    return read_mixture(
        ones,
        name,
        style=style,
        mixture=Mixture(),
        attends=_attentions(config, size.layers, whole=attend(size, style)),
        size=size,
    )


def _attentions(config: Config, layers: int, *, whole: Block) -> tuple[Block, ...]:
    """Layers with positions see their own chunk only; those without see everything."""
    chunk = config.maybe("attention_chunk_size")
    if whole.mixer is None or not chunk:
        return (whole,) * layers
    part = replace(whole, mixer=replace(whole.mixer, kind=Mix.CHUNK, window_tok=chunk))
    period = config.size("no_rope_layer_interval", default=4)
    told = listed(config, "no_rope_layers", layers=layers)
    default = [bool(flag) for flag in told] if told else [bool((i + 1) % period) for i in range(layers)]
    kinds = layer_types(config, layers, default=lambda index: CHUNKED if default[index] else "full_attention")
    return tuple(part if kind == CHUNKED else whole for kind in kinds)
