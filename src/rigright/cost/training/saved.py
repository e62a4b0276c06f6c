"""Activations a layer saves for its backward pass, and what that pass holds, in bytes per token.

Elements are counted from the layer's mixer, FFN and weights; the trainer's defaults decide which are
saved. The split by tensor parallelism is separate, so one count serves every layout.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rigright.arch.record import Cut, Ffn, Layer, Mix, Mixer, Weight, is_bias, is_matrix, part
from rigright.base.record import dataclass
from rigright.cost.training.learners import is_target
from rigright.demand import Layout, Numbers
from rigright.facts.training import Trainer

STAT_BYTES = 4  # statistics are kept in fp32
SCORE_BYTES = 6  # softmax in fp32 and its copy in 16 bit, a pair of tokens and a head
KEPT_PRODUCTS = 0.5  # every second matrix product is kept by operation-wise selective recompute
STATE_MIXERS = frozenset({Mix.LINEAR, Mix.SSM, Mix.CONV})


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Bytes a token, by how tensor parallelism divides them."""

    whole: float = 0  # every rank keeps all
    stream: float = 0  # as wide as the model: divided where sequence parallel
    split: float = 0  # divided by heads or ffn width
    kv: float = 0  # divided by kv heads, at most
    expert: float = 0  # of tokens sent to experts: divided where experts are cut by tensor parallelism
    pair: float = 0  # a pair of tokens of one sequence: the score matrix

    def __add__(self, other: Saved) -> Saved:
        return Saved(**{name: getattr(self, name) + getattr(other, name) for name in Saved.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """What decides which tensors are kept: the trainer's ways, widths, what is trained."""

    hidden: int  # width of the stream between layers
    compute: float  # bytes of an activation
    residual: float  # bytes of the stream
    input: float  # bytes of a linear layer's kept input
    own_inputs: bool  # each linear layer casts and keeps its own copy of it (autocast from fp32)
    full: bool  # the base is trained
    linear: bool  # linear layers keep their input: where trained, or by an old 4-bit kernel
    targets: str  # adapters, where it is not
    autocast: bool  # adapters compute in `compute`, not in their own width
    flash: bool
    dropout: float
    recompute: str
    trainer: Trainer


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One micro-batch as a rank sees it."""

    samples: Numbers
    seq_tok: Numbers  # of a sequence, already cut by context parallelism
    layout: Layout
    kv_heads: int

    def size_of(self, saved: Saved) -> Numbers:
        """Bytes on one rank."""
        tp, ep = np.asarray(self.layout.tp, dtype=float), np.asarray(self.layout.ep)
        stream = tp if self.layout.sequence_parallel else np.ones_like(tp)
        a_token = (
            saved.whole
            + saved.stream / stream
            + saved.split / tp
            + saved.kv / np.minimum(tp, max(self.kv_heads, 1))
            + saved.expert / np.where(ep > 1, stream, tp)
            + saved.pair * np.asarray(self.seq_tok) / tp
        )
        return a_token * self.samples * self.seq_tok


@cache
def layer_saved(layer: Layer, habit: Habit) -> Saved:
    """Everything one layer keeps between its forward and backward pass."""
    if habit.recompute == "selective" and habit.trainer.selective == "ops":
        return _products(layer, habit)
    total = _norms(layer, habit) + _dropouts(layer, habit) + _adapters(layer, habit)
    for mixer in (layer.mixer, layer.cross):
        if mixer is not None:
            total += _state_mixer(layer, habit) if mixer.kind in STATE_MIXERS else _attention(mixer, habit)
    if layer.ffn is not None:
        total += _ffn(layer.ffn, habit)
    return total


@cache
def layer_working(layer: Layer, habit: Habit) -> Saved:
    """What lives beside the saved tensors while the layer's backward runs: gradients as wide as its ffn."""
    ffn, stream = layer.ffn, habit.compute * habit.hidden
    if ffn is None:
        return Saved(stream=2 * stream)
    wide = habit.compute * (habit.trainer.wide_grads if ffn.gated else 2)
    dense = ffn.width if not ffn.experts else ffn.shared_width
    at_once = 1 if habit.trainer.experts_at_once else 1 / max(ffn.experts, 1)
    routed = wide * ffn.width * ffn.per_tok * at_once
    return Saved(stream=stream, split=wide * dense, expert=routed)


def layer_input(habit: Habit) -> Saved:
    """What full recompute keeps of a layer: its input."""
    return Saved(stream=0 if habit.trainer.offload_checkpoints else habit.residual * habit.hidden)


def _products(layer: Layer, habit: Habit) -> Saved:
    """The layer's input, the output of attention, and those of every other matrix product."""
    heads = 0 if layer.mixer is None else layer.mixer.heads * layer.mixer.value_dim
    total = Saved(stream=habit.residual * habit.hidden, split=habit.compute * heads)
    for weight in layer.weights:
        if is_matrix(weight) and len(weight.shape) == 2:
            out = habit.compute * weight.shape[0] * (weight.used or weight.copies) * KEPT_PRODUCTS
            narrow = weight.cut in {Cut.IN, Cut.WHOLE}
            by = "stream" if narrow else "expert" if weight.cut == Cut.EXPERT else "split"
            total += Saved(**{by: out})
    return total


def _norms(layer: Layer, habit: Habit) -> Saved:
    """A fused norm keeps its input; an eager RMSNorm an fp32 copy and, where its scale learns, the normed."""
    scales = [weight.shape[0] for weight in layer.weights if weight.role == "norm"]
    shifted = any(weight.role == "norm.bias" for weight in layer.weights)
    each = habit.compute
    if not habit.trainer.fused_norm and not shifted:
        each = STAT_BYTES + (habit.residual if habit.full else 0)
    wide, narrow = scales.count(habit.hidden), [width for width in scales if width != habit.hidden]
    total = Saved(stream=each * habit.hidden * wide)
    mixer = layer.mixer
    if mixer is None or not narrow:
        return total
    if mixer.kind == Mix.LATENT:
        return total + Saved(whole=each * sum(narrow))
    return total + Saved(split=each * mixer.heads * mixer.key_dim, kv=each * mixer.kv_heads * mixer.key_dim)


def _attention(mixer: Mixer, habit: Habit) -> Saved:
    """Queries, keys, values, output and the input of the projections; scores without flash attention."""
    width, latent = habit.compute, mixer.kind == Mix.LATENT
    both = mixer.key_dim + mixer.value_dim
    saved = Saved(
        split=width * mixer.heads * both * (2 if latent else 1) + STAT_BYTES * mixer.heads,
        kv=0 if latent else width * mixer.kv_heads * both,
        whole=habit.input * mixer.latent_dim * habit.linear,
        stream=habit.input * habit.hidden * habit.linear * (3 if habit.own_inputs else 1),
    )
    saved += Saved(pair=habit.trainer.score_bytes * mixer.heads)
    if habit.flash or habit.recompute == "selective":
        return saved
    repeated = width * (mixer.heads - mixer.kv_heads) * both
    return saved + Saved(pair=SCORE_BYTES * mixer.heads, split=repeated)


def _state_mixer(layer: Layer, habit: Habit) -> Saved:
    """Linear attention and SSM: what projections take and give, once more after convolution and gate."""
    matrices = [weight for weight in layer.weights if is_matrix(weight) and part(weight) == "mixer"]
    outputs = sum(weight.shape[0] for weight in matrices if weight.cut != Cut.IN)
    inputs = sum(weight.shape[1] for weight in matrices if weight.cut == Cut.IN)
    return Saved(split=habit.compute * 2 * (outputs + inputs), stream=habit.input * habit.hidden * habit.full)


def _ffn(ffn: Ffn, habit: Habit) -> Saved:
    """Gate, activated gate and up (or the pre-activation alone), the input; down's input where it learns."""
    own = (2 if habit.trainer.fused_glu else 3) if ffn.gated else 1
    wide = habit.compute * own + habit.input * habit.linear
    readers = 2 if ffn.gated and habit.own_inputs else 1
    base = Saved(stream=habit.input * habit.hidden * habit.linear * readers)
    if not ffn.experts:
        return base + Saved(split=wide * ffn.width)
    sent = habit.compute * habit.hidden * (2 if habit.full else 1)  # inputs, outputs before they are weighed
    return base + Saved(
        expert=ffn.per_tok * wide * ffn.width,
        stream=ffn.per_tok * sent,
        whole=2 * STAT_BYTES * ffn.experts,
        split=wide * ffn.shared_width,
    )


def _dropouts(layer: Layer, habit: Habit) -> Saved:
    """One mask byte an element after each half of the layer."""
    halves = (layer.mixer is not None) + (layer.cross is not None) + (layer.ffn is not None)
    return Saved(stream=habit.hidden * halves * bool(habit.dropout) * habit.full)


def _adapters(layer: Layer, habit: Habit) -> Saved:
    """Inputs of the adapters, each in its own copy or shared, and a mask where they drop out."""
    # matrices that carry an adapter
    if habit.full:
        targets: tuple[Weight, ...] = ()
    else:
        targets = tuple(
            weight for weight in layer.weights if not is_bias(weight) and is_target(weight, habit.targets)
        )
    width = habit.compute if habit.autocast else max(habit.compute, habit.trainer.adapter)
    each = width + (1 if habit.dropout else 0)
    shared = {weight.shape[-1]: weight for weight in targets}.values()
    total = Saved()
    for weight in targets if habit.trainer.cast_inputs else shared:
        size = each * weight.shape[-1] * (weight.used or weight.copies)
        total += Saved(split=size) if weight.cut in {Cut.IN, Cut.EXPERT} else Saved(stream=size)
    return total
