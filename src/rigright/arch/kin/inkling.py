"""Inkling and Zaya: attention over keys, values and outputs that short convolutions pass through."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix, norm
from rigright.arch.config import Config
from rigright.arch.decoder import Style, extras, layer, layer_types, read_sizes, text_arch
from rigright.arch.experts import Mixture, moe, read_decoder, routing
from rigright.arch.plan import repeat
from rigright.arch.record import Arch, Cut, Layer, Weight
from rigright.arch.ssm import vector
from rigright.base.record import replace

SLIDING = "hybrid_sliding"


def read_inkling_text(config: Config, name: str) -> Arch:
    """Inkling, language part: relative positions, short convolutions on keys, values and outputs."""
    dense = config.maybe("dense_intermediate_size")
    if dense:
        config = config.over(
            moe_intermediate_size=config.raw.get("moe_intermediate_size")
            or config.raw.get("intermediate_size"),
            intermediate_size=dense,
        )
    size = read_sizes(config)
    kernel = config.size("conv_kernel_size")
    style = Style(
        family="inkling",
        extra=vector("mixer.conv", size.hidden, 1, kernel) * 2,
        outer=blocks.norm(size.hidden),
    )
    value = config.raw.get("local_layer_ids")
    local = None if value is None else set(config.sizes("local_layer_ids"))

    def default(index: int) -> str:
        return SLIDING if (bool((index + 1) % 6) if local is None else index in local) else "hybrid"

    made = {window: _inkling_text_attention(config, kernel, window=window) for window in (True, False)}
    kinds = layer_types(config, size.layers, default=default)
    attends = tuple(made[kind == SLIDING] for kind in kinds)
    dense_first = config.whole("dense_mlp_idx", default=0)
    mixture = Mixture(dense_first=dense_first)
    arch = read_decoder(config, name, style=style, mixture=mixture, attends=attends, sizes=(size,))
    shared = config.whole("n_shared_experts", default=0)
    layers = tuple(_weighed(layer, shared, hidden=size.hidden) for layer in arch.trunk.layers)
    return replace(arch, towers=(replace(arch.trunk, layers=layers),))


def _inkling_text_attention(config: Config, kernel: int, *, window: bool) -> Block:
    of, hidden = "swa_" if window else "", config.size("hidden_size")
    heads, kv_heads, width = (
        config.size(f"{of}{key}", key) for key in ("num_attention_heads", "num_key_value_heads", "head_dim")
    )
    span = config.size("sliding_window_size") if window else None
    block = blocks.attention(
        hidden, blocks.gqa(heads, kv_heads, head_dim=width, window_tok=span), qk_norm=width
    )
    if block.mixer is None:
        return block
    relative, extent = config.size("d_rel"), config.size("rel_extent")
    rows = kv_heads * width
    weights = (
        *matrix("attn.relative", heads * relative, inputs=hidden, cut=Cut.OUT),
        Weight(role="position", shape=(relative, min(extent, span or extent))),
        *vector("mixer.conv", rows, 1, kernel) * 2,
    )
    state = (2 * rows + 2 * hidden) * kernel
    return Block((*block.weights, *weights), mixer=replace(block.mixer, state32_elems=state))


def _weighed(layer: Layer, shared: int, *, hidden: int) -> Layer:
    """The router scores the shared experts too; one number scales every feed-forward."""
    has_experts = layer.ffn is not None and layer.ffn.experts
    more = matrix("router", shared, inputs=hidden, cut=Cut.WHOLE) if has_experts else ()
    scale = Weight(role="router.scale", shape=(1,))
    return replace(layer, weights=(*layer.weights, *more, scale))


def read_inkling2_text(config: Config, name: str) -> Arch:
    """Inkling 2, language part: gated attention with data-given sinks, residuals weighed block by block."""
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
        return layer(hidden, style, _inkling2_text_attention(config, kernel, window=slides), experts, own)

    keys = ((kind == SLIDING, index == 0) for index, kind in enumerate(kinds))
    return text_arch(config, name, style=style, size=size, layers=repeat(keys, build))


def _inkling2_text_attention(config: Config, kernel: int, *, window: bool) -> Block:
    of, hidden = "swa_" if window else "", config.size("hidden_size")
    heads, kv_heads, width = (
        config.size(f"{of}{key}", key) for key in ("num_attention_heads", "num_key_value_heads", "head_dim")
    )
    span = config.size("sliding_window_size") if window else None
    whole = blocks.attention(hidden, blocks.gqa(heads, kv_heads, head_dim=width, window_tok=span))
    block = extras(whole, hidden, style=Style(family="inkling2", gate="wide"))
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


def read_zaya(config: Config, name: str) -> Arch:
    """Zaya: attention on convolved queries and keys, one expert a token or none, a deep router."""
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
