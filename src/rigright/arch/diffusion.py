"""Building stones of image generators that work on maps: residual blocks, attention over a map's places."""

from __future__ import annotations

from rigright.arch import conv as flows
from rigright.arch.conv import Flow, add, fork, gelu, keep, norm, place, sites, write
from rigright.arch.record import Ffn, Layer, Mix, Mixer, Weight
from rigright.arch.stack import linear
from rigright.base.record import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Attention over a map, and over a text where `text_width` says how wide that is."""

    heads: int
    head_dim: int
    text_width: int = 0
    text_tok: int = 77
    self_bias: bool = False
    blocks: int = 1
    flat: bool = False  # projections into and out of the blocks are linear layers
    only_cross: bool = False  # the first attention looks at the text as well


def residual(flow: Flow, outputs: int, *, time_width: int = 0) -> Flow:
    """Norm, SiLU, convolution, twice; the time's embedding in between; the input added."""
    first = flows.conv(gelu(norm(flow)), outputs, kernel=3, bias=True)
    if time_width:
        weights = linear("project", (outputs, time_width))
        first = write(replace(first, weights=(*first.weights, *weights)))
    second = flows.conv(gelu(norm(first)), outputs, kernel=3, bias=True)
    short = fork(flow)
    if flow.shape[0] != outputs:
        short = flows.conv(short, outputs, kernel=1, bias=True)
    return add(second, short)


def mixers(look: Look) -> tuple[Mixer, Mixer | None]:
    """Attention to itself, and to the text."""
    own = Mixer(
        kind=Mix.BOTH,
        heads=look.heads,
        kv_heads=look.heads,
        key_dim=look.head_dim,
        value_dim=look.head_dim,
    )
    return own, replace(own, kind=Mix.CROSS) if look.text_width else None


def attend(flow: Flow, look: Look, *, part: str, text: bool) -> Flow:
    """Queries from the map, keys and values from the map or the text, and a projection back."""
    inner, width = look.heads * look.head_dim, flow.shape[0]
    spots, source = (look.text_tok, look.text_width) if text else (sites(flow), width)
    biased = look.self_bias
    query = keep(place(flow, inner, bias=biased, role=f"{part}.q"))
    pairs = (
        *linear(f"{part}.k", (inner, source), bias=biased, sites=spots),
        *linear(f"{part}.v", (inner, source), bias=biased, sites=spots),
    )
    looked = replace(
        query,
        weights=(*query.weights, *pairs),
        maps=(*query.maps, spots * inner, spots * inner),
        kept=query.kept + 2 * spots * inner,
    )
    return place(keep(write(looked)), width, role=f"{part}.o")


def block(flow: Flow, look: Look) -> Flow:
    """Attention to itself, to the text, and a gated feed-forward, each after a norm."""
    width = flow.shape[0]
    own = add(attend(norm(flow), look, part="attn", text=look.only_cross), fork(flow))
    looked = add(attend(norm(own), look, part="cross", text=bool(look.text_width)), fork(own))
    wide = keep(place(norm(looked), 8 * width, role="ffn.gate_up"))
    half = (4 * width, *wide.shape[1:])
    gated = write(keep(write(wide, half)), half)
    return add(place(gated, width, role="ffn.down"), fork(looked))


def enter(flow: Flow, look: Look) -> Flow:
    """From a map to what blocks of attention work on."""
    inner = look.heads * look.head_dim
    normed = norm(flow)
    return place(normed, inner) if look.flat else flows.conv(normed, inner, kernel=1, bias=True)


def leave(flow: Flow, look: Look, *, width: int) -> Flow:
    """Back to the map's width, added to the map."""
    left = place(flow, width) if look.flat else flows.conv(flow, width, kernel=1, bias=True)
    return write(left)


def single_look(flow: Flow, look: Look) -> Flow:
    """One attention of a map to itself after a norm, added to it, as autoencoders have."""
    return add(attend(norm(flow), replace(look, self_bias=True), part="attn", text=False), fork(flow))


def joined(flow: Flow, skipped: int) -> Flow:
    """The map with one from the way down beside it."""
    return write(flow, (flow.shape[0] + skipped, *flow.shape[1:]))


def doubled(flow: Flow) -> Flow:
    """Twice as high and wide, then a convolution."""
    channels, high, wide = flow.shape
    return flows.conv(write(flow, (channels, 2 * high, 2 * wide)), channels, kernel=3, bias=True)


def halved(flow: Flow) -> Flow:
    """A convolution of stride two."""
    return flows.conv(flow, flow.shape[0], kernel=3, stride=2, bias=True)


def seal(flow: Flow, look: Look | None = None, *, feeds: bool = True) -> tuple[Layer, Flow]:
    """One block of the network as a layer, with the attention it holds."""
    if look is None:
        return flows.close(flow)
    own, cross = mixers(look)
    layer, after = flows.close(flow, mixer=own, cross=cross)
    width = 4 * look.heads * look.head_dim
    return (replace(layer, ffn=Ffn(width=width, gated=True)) if feeds else layer), after


def embedded(width: int, inputs: int, *, outputs: int | None = None) -> tuple[Weight, ...]:
    """Two layers that make an embedding of a time, a size, a pooled text."""
    return (*linear("project", (width, inputs)), *linear("project", (outputs or width, width)))
