"""Gemma 3n: streams of hidden states (AltUp), low-rank side paths, small token tables for every layer."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Sizes, Style, layer_types, read_sizes, text_arch
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Layer
from rigright.arch.sharing import borrow, per_layer_tables, shared_attention

MATCHES = ("gemma3n_text", "Gemma3nForCausalLM")
FULL = "full_attention"


def read(config: Config, name: str) -> Arch:
    """Read a Gemma 3n text config."""
    told = config.raw.get("intermediate_size")
    widths = config.sizes("intermediate_size") if isinstance(told, list) else []
    size = read_sizes(config, width=widths[0] if widths else config.size("intermediate_size"))
    widths = widths or [size.width] * size.layers
    kinds = layer_types(
        config, size.layers, default=lambda index: FULL if (index + 1) % 5 == 0 else "sliding_attention"
    )
    first_borrower = size.layers - config.whole("num_kv_shared_layers", default=0)
    keys = (
        (kind, width, index >= first_borrower)
        for index, (kind, width) in enumerate(zip(kinds, widths, strict=True))
    )
    layers = repeat(keys, lambda key: _layer(config, size, kind=key[0], width=key[1], borrows=key[2]))
    streams = config.size("altup_num_inputs", default=4)
    mixing = matrix("project", size.hidden, inputs=size.hidden, cut=Cut.WHOLE) * (2 * (streams - 1))
    style = Style(family="gemma3n_text", outer=(*per_layer_tables(config, size), *mixing))
    return text_arch(config, name, style=style, size=size, layers=layers)


def _layer(config: Config, size: Sizes, *, kind: str, width: int, borrows: bool) -> Layer:
    window = None if kind == FULL else config.maybe("sliding_window")
    mixer = blocks.gqa(size.heads, size.kv_heads, head_dim=size.head_dim, window_tok=window)
    attention = shared_attention(config, size.hidden, mixer=mixer, values=True)
    attention = borrow(attention) if borrows else attention
    ffn = blocks.dense(size.hidden, width)
    # altUp's mixing of streams, the low-rank path (Laurel), and the layer's own token vectors
    streams = config.size("altup_num_inputs", default=4)
    rank = config.size("laurel_rank", default=64)
    inner = config.size("hidden_size_per_layer_input", default=256)
    return Layer(
        weights=(
            *attention.weights,
            *ffn.weights,
            *norm(size.hidden) * 4,
            *norm(size.hidden),
            *matrix("other", streams, inputs=streams, cut=Cut.WHOLE),
            *matrix("other", streams * streams, inputs=streams, cut=Cut.WHOLE),
            *matrix("router", streams, inputs=size.hidden, cut=Cut.WHOLE),
            *norm(size.hidden),
            *matrix("other", rank, inputs=size.hidden, cut=Cut.WHOLE),
            *matrix("other", size.hidden, inputs=rank, cut=Cut.WHOLE),
            *norm(size.hidden),
            *matrix("ffn.gate", inner, inputs=size.hidden, cut=Cut.WHOLE),
            *matrix("project", size.hidden, inputs=inner, cut=Cut.WHOLE),
            *norm(size.hidden),
        ),
        mixer=attention.mixer,
        ffn=ffn.ffn,
    )
