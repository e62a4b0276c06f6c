"""Work per token in training: FLOPs, bytes and mixing, summed over layers by their split."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np

from rigright.arch.count import elems, flops_per_pair
from rigright.arch.record import Arch, Cut, Layer, Mix, Mixer, Weight, is_matrix, part
from rigright.base.record import dataclass
from rigright.cost.training.learners import companions, is_target, trunk_of
from rigright.cost.training.saved import STATE_MIXERS
from rigright.demand import Numbers

CHUNK_TOK = 128  # tokens that linear attention and state spaces treat as one block
SUM_BYTES = 6  # the residual: two read, one written
NORM_BYTES, EAGER_NORM_BYTES = 4, 28  # a norm in one kernel; an RMSNorm written out, in fp32
GATED_BYTES, EAGER_GATED_BYTES = 6, 10  # gate and up read, product written; the activation apart
PLAIN_BYTES = 4  # an element of an ffn without gate
TURN_BYTES, EAGER_TURN_BYTES = 4, 18  # an element of queries and keys, turned by its position
STATE_WIDTH_BYTES = 12  # an element of a state mixer's input: convolution, gate, norm
SENT_BYTES = 8  # an element of the stream for each expert: sorted by expert, and back


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Multiplications alike: cut alike, all layers together."""

    cut: Cut
    head: bool
    experts: int  # of one layer; 0: every token goes through all
    per_tok: int
    elems: float  # of weights that one token meets; `sited`: that one sample does
    held: float  # of weights in all
    inputs: float  # elements that go in, a token
    outputs: float  # elements that come out
    sited: bool = False  # met at the places of a sample, such as a window of sound, however long its text

    def met(self, seq_tok: Numbers) -> Numbers:
        """Elements that a token meets, in sequences of so many."""
        return self.elems / np.asarray(seq_tok, dtype=float) if self.sited else np.asarray(self.elems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The work of one token, all layers together; pairs of tokens apart."""

    bulks: tuple[Bulk, ...]
    mixers: tuple[tuple[Mixer, int], ...]
    tables: float  # elements of embeddings and positions
    stream_bytes: float  # moved in a forward pass of fused kernels, as wide as the stream
    wide_bytes: float  # as wide as heads and ffn
    eager_stream_bytes: float  # further, where each operation is a kernel of its own
    eager_wide_bytes: float
    sent_elems: float  # one token sends to one expert, all layers
    layers: int
    moe_layers: int
    per_tok: int  # experts a token is sent to
    reduced: int  # halves of layers whose output tensor parallelism sums
    hidden: int
    vocab: int
    kv_elems: float  # keys and values a token, all layers: what context parallelism sends
    adapted: tuple[float, float, float]  # of matrices with adapters: inputs, outputs, elements a token meets

    def flops_per_tok(self, seq_tok: Numbers) -> Numbers:
        """Forward, pairs apart."""
        return 2 * sum((bulk.met(seq_tok) for bulk in self.bulks), start=np.zeros(()))


@cache
def effort_of(arch: Arch, targets: str = "") -> Effort:
    """Sum the layers of all towers that learn and run; `targets` carry adapters."""
    towers = (trunk_of(arch), *companions(arch))
    layers = [layer for tower in towers for layer in tower.layers]
    counted = Counter(layers)
    outer = [weight for tower in towers for weight in tower.outer]
    trunk = trunk_of(arch)
    return Effort(
        bulks=_bulks(counted, outer, tied=arch.tied),
        mixers=tuple(_mixers(counted).items()),
        tables=sum(elems(weight) for weight in outer if part(weight) in {"embed", "position"}),
        stream_bytes=sum(times * _stream_bytes(layer, trunk.hidden) for layer, times in counted.items()),
        wide_bytes=sum(times * _wide_bytes(layer) for layer, times in counted.items()),
        eager_stream_bytes=sum(times * _eager_norms(layer) for layer, times in counted.items()),
        eager_wide_bytes=sum(times * _eager_wide(layer) for layer, times in counted.items()),
        sent_elems=sum(times * _sent_width(layer) for layer, times in counted.items()),
        layers=len(layers),
        moe_layers=sum(times for layer, times in counted.items() if _is_moe(layer)),
        per_tok=max((layer.ffn.per_tok for layer in counted if layer.ffn is not None), default=0),
        reduced=sum(times * _halves(layer) for layer, times in counted.items()),
        hidden=trunk.hidden,
        vocab=arch.vocab,
        kv_elems=sum(times * _kv_elems(layer) for layer, times in counted.items()),
        adapted=_adapted(Counter(trunk.layers), targets),
    )


def _bulks(counted: Counter[Layer], outer: list[Weight], *, tied: bool) -> tuple[Bulk, ...]:
    sums: dict[tuple[Cut, bool, int, int, bool], np.ndarray] = {}
    rows = [(weight, layer, times) for layer, times in counted.items() for weight in layer.weights]
    for weight, layer, times in (*rows, *((weight, None, 1) for weight in outer)):
        if not is_matrix(weight) and not (tied and weight.role == "embed"):
            continue
        experts, per_tok = _routed(weight, layer)
        key = (weight.cut, layer is None, experts, per_tok, weight.sites > 1)
        sums[key] = sums.get(key, np.zeros(4)) + times * _figures(weight)
    return tuple(
        Bulk(
            cut=cut,
            head=head,
            experts=experts,
            per_tok=per_tok,
            elems=row[0],
            held=row[1],
            inputs=row[2],
            outputs=row[3],
            sited=sited,
        )
        for (cut, head, experts, per_tok, sited), row in sums.items()
    )


def _routed(weight: Weight, layer: Layer | None) -> tuple[int, int]:
    """Experts of its layer and those of a token, where it belongs to one of them."""
    if layer is None or layer.ffn is None or part(weight) != "expert":
        return 0, 0
    return layer.ffn.experts, layer.ffn.per_tok


def _figures(weight: Weight) -> np.ndarray:
    """Elements met and held, inputs and outputs of all copies a token goes through."""
    used = weight.copies if weight.used is None else weight.used
    inputs = math.prod(weight.shape[1:])
    met = elems(weight) * used * weight.sites
    return np.array([met, elems(weight) * weight.copies, inputs * used, weight.shape[0] * used], dtype=float)


def _mixers(counted: Counter[Layer]) -> dict[Mixer, int]:
    counts: dict[Mixer, int] = {}
    for layer, times in counted.items():
        for mixer in (layer.mixer, layer.cross):
            if mixer is not None:
                counts[mixer] = counts.get(mixer, 0) + times
    return counts


def _is_moe(layer: Layer) -> bool:
    return layer.ffn is not None and layer.ffn.experts > 0


def _sent_width(layer: Layer) -> int:
    """What goes into an expert, as wide as its first matrix takes it; 0: no experts."""
    firsts = (weight for weight in layer.weights if weight.role in {"expert.up", "expert.gate_up"})
    return next((weight.shape[-1] for weight in firsts), 0) if _is_moe(layer) else 0


def _halves(layer: Layer) -> int:
    return (layer.mixer is not None) + (layer.cross is not None) + (layer.ffn is not None)


def _stream_bytes(layer: Layer, hidden: int) -> float:
    sent = SENT_BYTES * layer.ffn.per_tok * _sent_width(layer) if layer.ffn is not None else 0
    return hidden * (SUM_BYTES + NORM_BYTES) * _halves(layer) + sent


def _eager_norms(layer: Layer) -> float:
    """An RMSNorm written out; a norm with a shift is one kernel everywhere."""
    if any(weight.role == "norm.bias" for weight in layer.weights):
        return 0.0
    widths = sum(weight.shape[0] for weight in layer.weights if weight.role == "norm")
    return (EAGER_NORM_BYTES - NORM_BYTES) * widths


def _turned(layer: Layer) -> float:
    """Elements of queries and keys."""
    attention = [mixer for mixer in (layer.mixer, layer.cross) if mixer and mixer.kind not in STATE_MIXERS]
    return sum((mixer.heads + mixer.kv_heads) * mixer.key_dim for mixer in attention)


def _inner(layer: Layer) -> float:
    """Elements of the ffn, of all experts a token goes through."""
    ffn = layer.ffn
    return 0.0 if ffn is None else ffn.width * max(ffn.per_tok, 1) + ffn.shared_width


def _wide_bytes(layer: Layer) -> float:
    is_gated = layer.ffn is not None and layer.ffn.gated
    states = sum(weight.shape[0] for weight in layer.weights if weight.role.startswith("mixer.in"))
    inner = (GATED_BYTES if is_gated else PLAIN_BYTES) * _inner(layer)
    return TURN_BYTES * _turned(layer) + STATE_WIDTH_BYTES * states + inner


def _eager_wide(layer: Layer) -> float:
    is_gated = layer.ffn is not None and layer.ffn.gated
    turned = (EAGER_TURN_BYTES - TURN_BYTES) * _turned(layer)
    return turned + (EAGER_GATED_BYTES - GATED_BYTES) * is_gated * _inner(layer)


def _kv_elems(layer: Layer) -> float:
    mixer = layer.mixer
    if mixer is None or mixer.kind in STATE_MIXERS:
        return 0.0
    if mixer.kind == Mix.LATENT:
        return mixer.latent_dim
    return mixer.kv_heads * (mixer.key_dim + mixer.value_dim)


def pairs_of(mixer: Mixer, seq_tok: Numbers) -> Numbers:
    """Keys that a token meets, on average over its sequence."""
    seq = np.asarray(seq_tok, dtype=float)
    if mixer.kind in STATE_MIXERS:
        return np.minimum(seq, CHUNK_TOK) / 2
    if mixer.kind in {Mix.BOTH, Mix.CROSS}:
        return seq
    if mixer.every_tok > 1 or mixer.topk_tok is not None:
        kept = seq / 2 / mixer.every_tok
        kept = kept if mixer.topk_tok is None else np.minimum(kept, mixer.topk_tok)
        return kept + (_seen(seq, mixer.window_tok) if mixer.window_tok else 0)
    return _seen(seq, mixer.window_tok)


def _seen(seq: Numbers, window_tok: int | None) -> Numbers:
    """Half the sequence; of a window, less at its start."""
    window = seq if window_tok is None else np.minimum(seq, window_tok)
    return window * (1 - window / (2 * seq))


def mixer_flops(mixer: Mixer, seq_tok: Numbers) -> Numbers:
    """FLOPs of one token's mixing, forward."""
    flops = flops_per_pair(mixer) * pairs_of(mixer, seq_tok)
    if mixer.kind in STATE_MIXERS:
        return flops + 4 * mixer.heads * mixer.key_dim * mixer.value_dim
    return flops


def model_flops_per_tok(effort: Effort, seq_tok: Numbers) -> Numbers:
    """Forward and backward of the model's own arithmetic: six a weight, mixing as a causal mask leaves it."""
    mixing = sum(times * mixer_flops(mixer, seq_tok) for mixer, times in effort.mixers)
    return 3 * (effort.flops_per_tok(seq_tok) + mixing)


def _adapted(counted: Counter[Layer], targets: str) -> tuple[float, float, float]:
    met = [
        times * _figures(weight)
        for layer, times in counted.items()
        for weight in layer.weights
        if targets and is_target(weight, targets)
    ]
    total = np.sum(met, axis=0) if met else np.zeros(4)
    return float(total[2]), float(total[3]), float(total[0])
