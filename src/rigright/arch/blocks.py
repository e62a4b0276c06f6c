"""Building blocks shared by families: attention, FFN, experts, norms, with their weights."""

from __future__ import annotations

from rigright.arch.record import Cut, Ffn, Mix, Mixer, Weight
from rigright.base.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a layer: what it does (mixer or ffn) and its weights."""

    weights: tuple[Weight, ...]
    mixer: Mixer | None = None
    ffn: Ffn | None = None


def matrix(role: str, outputs: int, *, inputs: int, cut: Cut, bias: bool = False) -> tuple[Weight, ...]:
    """A linear layer, with its bias where it has one."""
    weights = (Weight(role=role, shape=(outputs, inputs), cut=cut),)
    if not bias:
        return weights
    return (*weights, Weight(role=f"{role}.bias", shape=(outputs,), cut=Cut.WHOLE if cut == Cut.IN else cut))


def norm(width: int, *, bias: bool = False) -> tuple[Weight, ...]:
    """RMSNorm, or LayerNorm with its shift."""
    scale = Weight(role="norm", shape=(width,))
    return (scale, Weight(role="norm.bias", shape=(width,))) if bias else (scale,)


def attention(
    hidden: int,
    mixer: Mixer,
    *,
    qkv_bias: bool = False,
    out_bias: bool = False,
    qk_norm: int = 0,
    part: str = "attn",
) -> Block:
    """Multi-head attention: MHA, GQA, MQA. `qk_norm` is the width of the norms on q and k (per head)."""
    biases = "qkv" * qkv_bias + "o" * out_bias
    norms = norm(qk_norm) * 2 if qk_norm else ()
    return Block((*projections(part, mixer, hidden=hidden, biases=biases), *norms), mixer=mixer)


def projections(
    part: str, mixer: Mixer, *, hidden: int, biases: str = "", source: int | None = None
) -> tuple[Weight, ...]:
    """The four matrices of attention; `biases` names those with one, keys and values are made of `source`."""
    queries = mixer.heads * mixer.key_dim
    keys, values = mixer.kv_heads * mixer.key_dim, mixer.kv_heads * mixer.value_dim
    seen = hidden if source is None else source
    return (
        *matrix(f"{part}.q", queries, inputs=hidden, cut=Cut.OUT, bias="q" in biases),
        *matrix(f"{part}.k", keys, inputs=seen, cut=Cut.KV, bias="k" in biases),
        *matrix(f"{part}.v", values, inputs=seen, cut=Cut.KV, bias="v" in biases),
        *matrix(f"{part}.o", hidden, inputs=mixer.heads * mixer.value_dim, cut=Cut.IN, bias="o" in biases),
    )


def borrow(attention: Block) -> Block:
    """The same attention, reading an earlier layer's cache: no keys, no values, no norm on keys."""
    if attention.mixer is None:
        return attention
    kept = [weight for weight in attention.weights if not weight.role.startswith(("attn.k", "attn.v"))]
    norms = [weight for weight in kept if weight.role == "norm"]
    if norms:
        kept.remove(norms[-1])
    return Block(tuple(kept), mixer=replace(attention.mixer, shares_cache=True))


def beside(attention: Block, state: Block) -> Block:
    """Attention and a state-space mixer side by side in one layer: it keeps a cache and a state."""
    if attention.mixer is None or state.mixer is None:
        return attention
    mixer = replace(
        attention.mixer,
        state32_elems=state.mixer.state32_elems,
        state16_elems=state.mixer.state16_elems,
    )
    return Block((*attention.weights, *state.weights), mixer=mixer)


def gqa(
    heads: int, kv_heads: int, *, head_dim: int, window_tok: int | None = None, kind: Mix = Mix.FULL
) -> Mixer:
    """The usual attention: keys and values of one width; a window makes it sliding."""
    return Mixer(
        kind=Mix.WINDOW if window_tok is not None and kind == Mix.FULL else kind,
        heads=heads,
        kv_heads=kv_heads,
        key_dim=head_dim,
        value_dim=head_dim,
        window_tok=window_tok,
    )


def dense(hidden: int, width: int, *, gated: bool = True, bias: bool = False) -> Block:
    """A dense feed-forward: gate, up, down, or up and down only."""
    weights = feed_forward(hidden, width, gated=gated, biases="gud" * bias)
    return Block(weights, ffn=Ffn(width=width, gated=gated))


def feed_forward(hidden: int, width: int, *, gated: bool, biases: str = "") -> tuple[Weight, ...]:
    """The matrices of a dense feed-forward; `biases` names those with one: g u d for gate, up, down."""
    return (
        *(matrix("ffn.gate", width, inputs=hidden, cut=Cut.OUT, bias="g" in biases) if gated else ()),
        *matrix("ffn.up", width, inputs=hidden, cut=Cut.OUT, bias="u" in biases),
        *matrix("ffn.down", hidden, inputs=width, cut=Cut.IN, bias="d" in biases),
    )


def experts(hidden: int, ffn: Ffn, *, router_bias: bool = False, bias: bool = False) -> Block:
    """Routed experts with their router, and shared experts as one dense ffn of their summed width."""

    def routed(role: str, shape: tuple[int, int]) -> tuple[Weight, ...]:
        shapes = ((role, shape), *(((f"{role}.bias", shape[:1]),) if bias else ()))
        return tuple(
            Weight(role=name, shape=shape, cut=Cut.EXPERT, copies=ffn.experts, used=ffn.per_tok)
            for name, shape in shapes
        )

    shared = ffn.shared_width
    weights = (
        *matrix("router", ffn.experts, inputs=hidden, cut=Cut.WHOLE, bias=router_bias),
        *(routed("expert.gate", (ffn.width, hidden)) if ffn.gated else ()),
        *routed("expert.up", (ffn.width, hidden)),
        *routed("expert.down", (hidden, ffn.width)),
        *(matrix("shared.gate", shared, inputs=hidden, cut=Cut.OUT) if shared and ffn.gated else ()),
        *(matrix("shared.up", shared, inputs=hidden, cut=Cut.OUT) if shared else ()),
        *(matrix("shared.down", hidden, inputs=shared, cut=Cut.IN) if shared else ()),
    )
    return Block(weights, ffn=ffn)


def embedding(vocab: int, hidden: int) -> tuple[Weight, ...]:
    """The token table."""
    return (Weight(role="embed", shape=(vocab, hidden), cut=Cut.VOCAB),)


def head(vocab: int, hidden: int, *, tied: bool, bias: bool = False) -> tuple[Weight, ...]:
    """The matrix that makes logits; nothing of its own where tied (a bias stays)."""
    weights = matrix("head", vocab, inputs=hidden, cut=Cut.VOCAB, bias=bias)
    return weights[1:] if tied else weights


def connections(hidden: int, streams: int, *, mixed: bool = True) -> tuple[Weight, ...]:
    """How one block reads from the streams and writes to them; `mixed`: it also mixes them."""
    outputs = streams * (2 + streams) if mixed else 2 * streams
    return (
        Weight(role="other.connect", shape=(outputs, streams * hidden)),
        Weight(role="other.connect.bias", shape=(outputs,)),
        Weight(role="other.scale", shape=(3 if mixed else 2,)),
    )


def head_connection(hidden: int, streams: int) -> tuple[Weight, ...]:
    """How the streams become one before the head."""
    return (
        Weight(role="other.connect", shape=(streams, streams * hidden)),
        Weight(role="other.connect.bias", shape=(streams,)),
        Weight(role="other.scale", shape=(1,)),
    )
