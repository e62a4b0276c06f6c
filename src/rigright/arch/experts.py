"""Mixture-of-experts models: how many experts, how wide, and the whole decoder built of them."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.arch import blocks
from rigright.arch.blocks import Block, matrix
from rigright.arch.config import Config
from rigright.arch.decoder import Sizes, Style, attend, feed, layer, norm, read_sizes, text_arch
from rigright.arch.plan import repeat, sparse_layers
from rigright.arch.record import Arch, Cut, Ffn, Layer, Weight
from rigright.base.record import dataclass, replace

# one quantity, and every key that configs name it by
EXPERTS = (
    "n_routed_experts",
    "num_local_experts",
    "num_experts",
    "moe_num_experts",
    "num_routed_experts",
    "routed_expert_num",
    "n_experts",
)
PER_TOK = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "moe_k",
    "moe_topk",
    "moe_top_k",
    "num_selected_experts",
    "top_k_experts",
    "num_experts_per_topk",
    "topk",
)
WIDTH = (
    "moe_intermediate_size",
    "expert_ffn_hidden_size",
    "moe_ffn_hidden_size",
    "expert_intermediate_size",
    "intermediate_size",
    "ffn_hidden_size",
)
SHARED_WIDTH = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_experts_intermediate_size",
    "share_expert_dim",
    "shared_intermediate_size",
)
SHARED = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
OF_A_LAYER = (*EXPERTS, *PER_TOK, *WIDTH, *SHARED_WIDTH, *SHARED)  # each may be a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """In what a family of experts differs from Mixtral, as far as anything can be counted."""

    router_bias: bool = False
    correction: bool = False  # a learned shift of the scores, kept as a parameter
    expert_bias: bool = False
    shared_bias: bool = False
    shared_gate: bool = False  # the shared expert's own gate: one number a token
    dense_first: int = 0  # leading layers without experts where no key says so
    shared: bool = True  # whether the family has shared experts at all
    latent: int = 0  # width the routed experts work in, where it is not the model's
    latent_norms: int = 0  # norms of that width
    after_norm: bool = False  # a norm behind the experts
    beside: int = 0  # width of a dense feed-forward beside the experts
    beside_norm: bool = False  # with a norm of its own
    dense: bool = False  # the layer's own dense feed-forward stands beside the experts, which share none


def routing(config: Config, index: int = 0, *, shared: bool = True) -> Ffn:
    """The experts of one layer; some configs list a size for each."""
    width = at(config, index, *WIDTH)
    given = next((at(config, index, key) for key in SHARED_WIDTH if config.raw.get(key) is not None), None)
    number = at(config, index, *SHARED, default=0)
    return Ffn(
        width=width,
        gated=True,
        experts=at(config, index, *EXPERTS),
        per_tok=at(config, index, *PER_TOK),
        shared_width=0 if not shared else number * width if given is None else given,
    )


def at(config: Config, index: int, *keys: str, default: int | None = None) -> int:
    """A count that may be one number for all layers or a list of one each."""
    for key in keys:
        value = config.raw.get(key)
        if isinstance(value, list) and value:
            return Config({key: value[min(index, len(value) - 1)]}, config.where).whole(key)
    return config.whole(*keys) if default is None else config.whole(*keys, default=default)


def moe(hidden: int, ffn: Ffn, *, mixture: Mixture) -> Block:
    """Routed and shared experts in the family's manner."""
    block = blocks.experts(hidden, ffn, router_bias=mixture.router_bias, bias=mixture.expert_bias)
    if mixture.latent:
        # routed experts in a width of their own, with the matrices down to it and up again
        latent = mixture.latent
        narrow = blocks.experts(latent, replace(ffn, shared_width=0), bias=mixture.expert_bias)
        weights = (
            *(weight for weight in block.weights if not weight.role.startswith("expert.")),
            *(weight for weight in narrow.weights if weight.role.startswith("expert.")),
            *matrix("project", latent, inputs=hidden, cut=Cut.WHOLE),
            *matrix("project", hidden, inputs=latent, cut=Cut.WHOLE),
            *(blocks.norm(latent) * mixture.latent_norms),
        )
        block = replace(block, weights=weights)
    extra = (
        *((Weight(role="router.correction", shape=(ffn.experts,)),) if mixture.correction else ()),
        *(
            matrix("shared.router", 1, inputs=hidden, cut=Cut.WHOLE)
            if mixture.shared_gate and ffn.shared_width
            else ()
        ),
        *(_shared_biases(hidden, ffn) if mixture.shared_bias and ffn.shared_width else ()),
        *(blocks.norm(hidden) if mixture.after_norm else ()),
    )
    return replace(block, weights=(*block.weights, *extra))


def _shared_biases(hidden: int, ffn: Ffn) -> tuple[Weight, ...]:
    wide = ("shared.gate.bias", "shared.up.bias") if ffn.gated else ("shared.up.bias",)
    return (
        *(Weight(role=role, shape=(ffn.shared_width,), cut=Cut.OUT) for role in wide),
        Weight(role="shared.down.bias", shape=(hidden,)),
    )


def read_decoder(
    config: Config,
    name: str,
    *,
    style: Style,
    mixture: Mixture | None = None,
    attends: Sequence[Block] = (),
    sizes: Sequence[Sizes] = (),
) -> Arch:
    """A decoder of layers that are dense or, with a mixture, have experts where the config says so.

    `attends` are the layers' own attentions, else by the style's windows; `sizes` the layers' own sizes,
    or those of all.
    """
    sizes = sizes or (read_sizes(config),)
    size = sizes[0]
    if len(sizes) != size.layers:
        sizes = (size,) * size.layers
    blocks_of = tuple(attends) or attentions(size, style)
    routes = _routings(config, size.layers, mixture=mixture)

    def build(key: tuple[Block, Sizes, Ffn | None]) -> Layer:
        attention, own, ffn = key
        return layer(own.hidden, style, attention, feeding(own, style, mixture=mixture, ffn=ffn))

    layers = repeat(zip(blocks_of, sizes, routes, strict=True), build)
    return text_arch(config, name, style=style, size=size, layers=layers)


def _routings(config: Config, layers: int, *, mixture: Mixture | None) -> tuple[Ffn | None, ...]:
    """The experts of each layer that has some."""
    if mixture is None:
        return (None,) * layers
    sparse = sparse_layers(config, layers, dense_first=mixture.dense_first)
    listed = any(isinstance(config.raw.get(key), list) for key in OF_A_LAYER)
    first = sparse.index(True) if any(sparse) else 0
    alike = None if listed or not any(sparse) else routing(config, first, shared=mixture.shared)
    return tuple(
        (alike or routing(config, index, shared=mixture.shared)) if has_experts else None
        for index, has_experts in enumerate(sparse)
    )


def feeding(size: Sizes, style: Style, *, mixture: Mixture | None, ffn: Ffn | None) -> Block:
    """The feed-forward of one layer: experts, or dense where there are none."""
    if mixture is None or ffn is None or not ffn.experts:
        return feed(size, style)
    block = moe(size.hidden, ffn, mixture=mixture)
    if mixture.dense:
        return replace(block, weights=(*block.weights, *feed(size, style).weights))
    if not mixture.beside:
        return block
    norms = norm(size.hidden, style) if mixture.beside_norm else ()
    dense = feed(size, style, width=mixture.beside)
    return Block((*block.weights, *norms, *dense.weights), ffn=replace(ffn, shared_width=mixture.beside))


def attentions(size: Sizes, style: Style) -> tuple[Block, ...]:
    """Each layer's attention, by the style's windows."""
    windows = style.windows or (None,) * size.layers
    made = {window: attend(size, style, window_tok=window) for window in dict.fromkeys(windows)}
    return tuple(made[window] for window in windows)
