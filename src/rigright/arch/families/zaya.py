"""Zaya: attention on convolved queries and keys, one expert a token or none, a deep router."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, layer_types, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import routing
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Layer, Weight
from rigright.arch.ssm import vector

MATCHES = ("zaya", "ZayaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Zaya config."""
    config = full(config, "zaya")
    size = read_sizes(
        config,
        tied=config.flag("tie_word_embeddings", default=True),
        width=config.size("moe_intermediate_size"),
    )
    scales = vector("other.scale", size.hidden)
    style = Style(
        family="zaya",
        extra=scales * 8,
        outer=scales * 2,
        head_bias=config.flag("lm_head_bias", default=False),
    )
    window = config.maybe("sliding_window")
    kinds = layer_types(config, size.layers, default=lambda _: "hybrid")

    def build(key: tuple[str, bool]) -> Layer:
        sliding = window if key[0] == "hybrid_sliding" else None
        # half of the values come from the token before; queries and keys pass two short convolutions
        biased = config.flag("attention_bias", default=False)
        mixer = blocks.gqa(size.heads, size.kv_heads, head_dim=size.head_dim, window_tok=sliding)
        whole = blocks.attention(size.hidden, mixer, qkv_bias=biased)
        near, far = config.size("cca_time0"), config.size("cca_time1")
        rows = (size.heads + size.kv_heads) * size.head_dim
        weights = (
            *vector("mixer.conv", rows, 1, near),
            *vector("mixer.conv.bias", rows),
            *vector("mixer.conv", rows, size.head_dim, far),
            *vector("mixer.conv.bias", rows),
            *vector("attn.scale", size.kv_heads),
        )
        late = size.kv_heads * size.head_dim // 2  # values of the token before
        kept = rows * (near + far - 2) + late
        return layer(
            size.hidden,
            style,
            Block((*whole.weights, *weights), mixer=replace(mixer, state16_elems=kept)),
            _experts(config, first=key[1]),
        )

    keys = ((kind, index == 0) for index, kind in enumerate(kinds))
    return text_arch(config, name, style=style, size=size, layers=repeat(keys, build))


def _experts(config: Config, *, first: bool) -> Block:
    """The router is a small network that also hears the router of the layer before."""
    hidden, low = config.size("hidden_size"), config.size("router_hidden_size")
    ffn = routing(config, shared=False)
    block = blocks.experts(hidden, ffn)
    weights: tuple[Weight, ...] = (
        *(weight for weight in block.weights if weight.role != "router"),
        *matrix("router.a", low, inputs=hidden, cut=Cut.WHOLE, bias=True),
        *(() if first else (Weight(role="router.scale", shape=(low,)),)),
        *norm(low),
        *matrix("router.b", low, inputs=low, cut=Cut.WHOLE, bias=True) * 2,
        *matrix("router", ffn.experts + 1, inputs=low, cut=Cut.WHOLE),
    )
    return Block(weights, ffn=block.ffn)
