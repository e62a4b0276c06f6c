"""MiMo-V2-Flash: values narrower than keys, windows with sinks and more key-value heads, one dense layer."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch import blocks
from rigright.arch.blocks import Block
from rigright.arch.config import Config
from rigright.arch.decoder import SLIDING, Style, layer_types, read_sizes
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, extras, read_mixture
from rigright.arch.plan import listed
from rigright.arch.record import Arch

MATCHES = ("mimo_v2_flash", "MiMoV2FlashForCausalLM", "mimo_v2", "MiMoV2ForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a MiMo-V2-Flash config."""
    config = full(config, "mimo_v2_flash")
    size = read_sizes(config)
    told = listed(config, "hybrid_layer_pattern", layers=size.layers)  # 1: a window
    slides = (
        [bool(kind) for kind in told]
        if told
        else [index != 0 and bool((index + 1) % 6) for index in range(size.layers)]
    )
    kinds = layer_types(
        config, size.layers, default=lambda i: "sliding_attention" if slides[i] else "full_attention"
    )
    made = {wide: _attention(config, window=wide) for wide in (True, False)}
    attends = tuple(made[kind in SLIDING] for kind in kinds)
    biased = config.flag("attention_bias", default=False)
    style = Style(family="mimo_v2_flash", qkv_bias=biased)
    return read_mixture(config, name, style=style, mixture=Mixture(dense_first=1), attends=attends, size=size)


def _attention(config: Config, *, window: bool) -> Block:
    """Sliding layers may have heads of their own; their window counts the token itself as well."""
    of = "swa_" if window else ""
    heads = config.size(f"{of}num_attention_heads", "num_attention_heads")
    kv_heads = config.size(f"{of}num_key_value_heads", "num_key_value_heads")
    if window and not config.raw.get("swa_num_key_value_heads"):
        kv_heads *= 2
    span = config.maybe("sliding_window_size")
    mixer = replace(
        blocks.gqa(
            heads,
            kv_heads,
            head_dim=config.size(f"{of}head_dim", "head_dim"),
            window_tok=(span + 1 if span else config.size("sliding_window")) if window else None,
        ),
        value_dim=config.size(f"{of}v_head_dim", "v_head_dim"),
    )
    hidden, biased = config.size("hidden_size"), config.flag("attention_bias", default=False)
    key = "add_swa_attention_sink_bias" if window else "add_full_attention_sink_bias"
    block = blocks.attention(hidden, mixer, qkv_bias=biased)
    return extras(block, hidden, sinks=config.flag(key, default=window))
