"""Inkling 2, language part: gated attention with data-given sinks, residuals weighed block by block."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, layer, layer_types, read_sizes, text_arch
from rigright.arch.defaults import full
from rigright.arch.experts import Mixture, extras, moe, routing
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Layer, Weight
from rigright.arch.ssm import vector

MATCHES = ("inkling2_text", "Inkling2ForCausalLM")
SLIDING = "hybrid_sliding"


def read(config: Config, name: str) -> Arch:
    """Read an Inkling 2 text config."""
    config = full(config, "inkling2_text")
    size = read_sizes(config, width=config.size("moe_intermediate_size"))
    hidden, kernel = size.hidden, config.size("conv_kernel_size")
    query = vector("other.connect", hidden)
    style = Style(
        family="inkling2",
        extra=(*query, *vector("mixer.conv", hidden, 1, kernel) * 2),
        outer=(*norm(hidden), *query),
    )
    experts = moe(hidden, routing(config, shared=False), mixture=Mixture())
    kinds = layer_types(config, size.layers, default=lambda i: SLIDING if (i + 1) % 6 else "hybrid")

    def build(key: tuple[bool, bool]) -> Layer:
        slides, is_first = key
        reads = 1 if slides else 3  # queries, keys and values take up the earlier blocks apart
        asks = () if is_first else query * reads
        own = Block((*asks, *norm(hidden) * (reads - 1)))
        return layer(hidden, style, _attention(config, kernel, window=slides), experts, own)

    keys = ((kind == SLIDING, index == 0) for index, kind in enumerate(kinds))
    return text_arch(config, name, style=style, size=size, layers=repeat(keys, build))


def _attention(config: Config, kernel: int, *, window: bool) -> Block:
    of, hidden = "swa_" if window else "", config.size("hidden_size")
    heads, kv_heads, width = (
        config.size(f"{of}{key}", key) for key in ("num_attention_heads", "num_key_value_heads", "head_dim")
    )
    span = config.size("sliding_window_size") if window else None
    whole = blocks.attention(hidden, blocks.gqa(heads, kv_heads, head_dim=width, window_tok=span))
    block = extras(whole, hidden, gate="wide")
    if block.mixer is None:
        return block
    relative, rows = config.size("d_rel"), kv_heads * width
    extent = span or config.size("rel_extent")
    # on keys or on values: fixed in windows, else moved by the token for each head
    if window:
        convolutions = vector("mixer.conv", rows, 1, kernel)
    else:
        convolutions = (
            *vector("mixer.conv", kernel, rows),
            *matrix("mixer.conv.shift", kernel * kv_heads, inputs=hidden, cut=Cut.OUT),
        )
    weights = (
        *matrix("attn.relative", heads * relative, inputs=hidden, cut=Cut.OUT),
        Weight(role="position", shape=(relative, extent)),
        *matrix("attn.sink", heads, inputs=hidden, cut=Cut.OUT),
        *vector("attn.scale", heads, width),
        *vector("attn.scale", heads, relative),
        *convolutions * 2,
    )
    state = (2 * rows + 2 * hidden) * kernel
    return Block((*block.weights, *weights), mixer=replace(block.mixer, state32_elems=state))
