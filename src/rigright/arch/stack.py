"""Transformer layers of encoders, towers and encoder-decoders, built from one short description."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from rigright.arch.blocks import feed_forward, matrix, norm, projections
from rigright.arch.record import Cut, Ffn, Layer, Mix, Mixer, Tower, Weight
from rigright.base.errors import DataError
from rigright.base.record import dataclass, replace
from rigright.base.words import say


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One kind of layer: attention, feed-forward and norms of one width.

    `biases` names the matrices that have one: q k v o of the attention, g u d of the feed-forward
    (gate, up, down), and c for all four of the cross-attention.
    """

    hidden: int
    heads: int
    width: int  # of the feed-forward; 0: none
    kv_heads: int | None = None  # None: as many as heads
    head_dim: int | None = None  # None: the hidden width shared out
    biases: str = "qkvogudc"
    gated: bool = False
    norms: int = 2
    norm_bias: bool = True
    qk_norm: int = 0  # width of a norm on q and on k
    scales: int = 0  # learned factors on branches (layer scale)
    steers: int = 0  # factors on branches that come from outside (a time's embedding)
    cross_hidden: int = 0  # width of what cross-attention reads; 0: none
    cross_norms: int = 1
    kind: Mix = Mix.BOTH
    window_tok: int | None = None
    tok: int | None = None  # tokens of one sample; None: the prompt's
    extra: tuple[Weight, ...] = ()


def mixer(stack: Stack) -> Mixer:
    """What the attention of such a layer is."""
    if stack.head_dim is None and stack.hidden % stack.heads:
        raise DataError(
            say("{heads} heads do not divide a width of {hidden}", heads=stack.heads, hidden=stack.hidden)
        )
    width = stack.head_dim or stack.hidden // stack.heads
    return Mixer(
        kind=stack.kind,
        heads=stack.heads,
        kv_heads=stack.kv_heads or stack.heads,
        key_dim=width,
        value_dim=width,
        window_tok=stack.window_tok,
    )


@cache
def layer(stack: Stack) -> Layer:
    """One layer."""
    mix = mixer(stack)
    cross = replace(mix, kind=Mix.CROSS, window_tok=None) if stack.cross_hidden else None
    cross_biases = ("qvo" + "k" * ("k" in stack.biases)) * ("c" in stack.biases)
    weights = (
        *projections("attn", mix, hidden=stack.hidden, biases=stack.biases),
        *(
            projections("cross", cross, hidden=stack.hidden, biases=cross_biases, source=stack.cross_hidden)
            if cross
            else ()
        ),
        *(
            feed_forward(stack.hidden, stack.width, gated=stack.gated, biases=stack.biases)
            if stack.width
            else ()
        ),
        *(norm(stack.hidden, bias=stack.norm_bias) * (stack.norms + (stack.cross_norms if cross else 0))),
        *(norm(stack.qk_norm) * 2 if stack.qk_norm else ()),
        *((Weight(role="norm", shape=(stack.hidden,)),) * stack.scales),
        *stack.extra,
    )
    built = Layer(
        weights=at(weights, stack.tok),
        mixer=mix,
        cross=cross,
        ffn=Ffn(width=stack.width, gated=stack.gated) if stack.width else None,
    )
    return built if stack.tok is None else replace(built, **_maps(stack, mix))


def at(weights: Iterable[Weight], sites: int | None) -> tuple[Weight, ...]:
    """The same weights applied at so many places of a sample."""
    return tuple(weights) if sites is None else tuple(replace(weight, sites=sites) for weight in weights)


def table(rows: int, width: int) -> tuple[Weight, ...]:
    """Learned positions, token types, class tokens."""
    return (Weight(role="position", shape=(rows, width)),)


def vector(*shape: int) -> tuple[Weight, ...]:
    """A bare parameter that no token is multiplied by."""
    return (Weight(role="position", shape=shape),)


def linear(
    role: str, shape: tuple[int, int], *, bias: bool = True, sites: int | None = None
) -> tuple[Weight, ...]:
    """A linear layer (out, in) outside the layers, at so many places of a sample."""
    outputs, inputs = shape
    return at(matrix(role, outputs, inputs=inputs, cut=Cut.WHOLE, bias=bias), sites)


def conv(role: str, shape: tuple[int, ...], *, bias: bool = True, sites: int = 1) -> tuple[Weight, ...]:
    """A convolution (out, in per group, kernel...), applied at so many positions."""
    weights = (Weight(role=role, shape=shape, sites=sites),)
    return (*weights, Weight(role=f"{role}.bias", shape=(shape[0],), sites=sites)) if bias else weights


def _maps(stack: Stack, mix: Mixer) -> dict[str, Any]:
    """Elements the ops of a layer write for one sample, in order, and how many of them autograd keeps."""
    tok, hidden = stack.tok or 0, stack.hidden
    queries, keys = mix.heads * mix.key_dim, mix.kv_heads * mix.key_dim
    wide = (stack.width,) * (4 if stack.gated else 2)  # up, its activation; gate, the product
    written = (hidden, queries, keys, keys, queries, hidden, hidden, hidden, *wide, hidden, hidden)
    kept = sum(written) - 2 * hidden  # a sum needs neither of its branches
    return {
        "map_elems": tuple(tok * width for width in written),
        "kept_elems": tok * (kept + hidden * (stack.scales + stack.steers)),  # a factor needs what it scales
    }


def eye_tower(stack: Stack, count: int, *, outer: tuple[Weight, ...]) -> Tower:
    """An eye of so many layers alike, over the tokens of one image."""
    many = (layer(stack),) * count
    return Tower(name="vision", hidden=stack.hidden, layers=many, outer=outer, sample_tok=stack.tok)
