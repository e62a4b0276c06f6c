"""Activations a layer saves for its backward pass, and what that backward holds at once, in bytes a token.

Elements are counted from the layer's own mixer, ffn and weights; a trainer's habits say which of them
are kept. How tensor parallelism divides them is told apart, so one count serves every layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from rigright.arch.record import Cut, Ffn, Layer, Mix, Mixer, Weight
from rigright.arch.roles import is_bias, is_matrix, part
from rigright.cost.training_adapters import is_target
from rigright.demand import Layout, Numbers
from rigright.facts.training import Trainer

STAT_BYTES = 4  # statistics are kept in fp32
KEPT_PRODUCTS = 0.5  # every second matrix product is kept by operation-wise selective recompute
SCORE_BYTES = 6  # softmax in fp32 and its copy in 16 bit, a pair of tokens and a head
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

    def __mul__(self, times: float) -> Saved:
        return Saved(**{name: getattr(self, name) * times for name in Saved.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """What decides which tensors are kept: the trainer's ways, widths, what is trained."""

    compute: float  # bytes of an activation
    residual: float  # bytes of the stream between layers
    input: float  # bytes of a linear layer's kept input
    full: bool  # the base is trained
    targets: str  # adapters, where it is not
    autocast: bool  # adapters compute in `compute`, not in their own width
    flash: bool
    dropout: float
    recompute: str
    trainer: Trainer


def saved_bytes(saved: Saved, tokens: Numbers, seq_tok: Numbers, layout: Layout, kv_heads: int) -> Numbers:
    """Bytes on one rank for so many tokens of sequences so long (already cut by context parallelism)."""
    tp = np.asarray(layout.tp, dtype=float)
    ep = np.asarray(layout.ep, dtype=float)
    stream = tp if layout.sequence_parallel else np.ones_like(tp)
    a_token = (
        saved.whole
        + saved.stream / stream
        + saved.split / tp
        + saved.kv / np.minimum(tp, max(kv_heads, 1))
        + saved.expert / np.where(ep > 1, stream, tp)
        + saved.pair * np.asarray(seq_tok) / tp
    )
    return a_token * tokens


@cache
def layer_saved(layer: Layer, hidden: int, habit: Habit) -> Saved:
    """Everything one layer keeps between its forward and backward pass."""
    if _keeps_products_only(habit):
        return _products(layer, hidden, habit)
    total = _norms(layer, hidden, habit) + _dropouts(layer, hidden, habit) + _adapters(layer, habit)
    for mixer in (layer.mixer, layer.cross):
        if mixer is not None:
            total += _mixer(layer, mixer, hidden, habit)
    if layer.ffn is not None:
        total += _ffn(layer.ffn, hidden, habit)
    return total


def _products(layer: Layer, hidden: int, habit: Habit) -> Saved:
    """The layer's input, the output of attention, and those of every other matrix product."""
    total = Saved(stream=habit.residual * hidden)
    if layer.mixer is not None:
        total += Saved(split=habit.compute * layer.mixer.heads * layer.mixer.value_dim)
    for weight in layer.weights:
        if is_matrix(weight) and len(weight.shape) == 2:
            out = habit.compute * weight.shape[0] * (weight.used or weight.copies) * KEPT_PRODUCTS
            by = "stream" if weight.cut in {Cut.IN, Cut.WHOLE} else "expert" if weight.cut == Cut.EXPERT else "split"
            total += Saved(**{by: out})
    return total


@cache
def layer_working(layer: Layer, hidden: int, habit: Habit) -> Saved:
    """What lives beside the saved tensors while the layer's backward runs: gradients as wide as its ffn."""
    ffn = layer.ffn
    stream = Saved(stream=habit.compute * hidden)
    if ffn is None:
        return stream * 2
    wide = habit.compute * (habit.trainer.wide_grads if ffn.gated else 2)
    dense = ffn.width if not ffn.experts else ffn.shared_width
    at_once = 1 if habit.trainer.experts_at_once else 1 / max(ffn.experts, 1)
    return stream + Saved(split=wide * dense, expert=wide * ffn.width * ffn.per_tok * at_once)


@cache
def layer_input(layer: Layer, hidden: int, habit: Habit) -> Saved:
    """What full recompute keeps of a layer: its input."""
    del layer
    return Saved() if habit.trainer.offload_checkpoints else Saved(stream=habit.residual * hidden)


def _norms(layer: Layer, hidden: int, habit: Habit) -> Saved:
    """A fused norm keeps its input; an eager RMSNorm an fp32 copy and, where its scale is trained, the normed."""
    scales = [weight for weight in layer.weights if weight.role == "norm"]
    shifted = any(weight.role == "norm.bias" for weight in layer.weights)
    each = habit.compute
    if not habit.trainer.fused_norm and not shifted:
        each = STAT_BYTES + (habit.residual if habit.full else 0)
    wide = sum(1 for weight in scales if weight.shape[0] == hidden)
    return Saved(stream=each * hidden * wide) + _head_norms(layer, scales, hidden, each)


def _head_norms(layer: Layer, scales: list[Weight], hidden: int, each: float) -> Saved:
    """Norms on queries and keys, head by head, or on the latents of MLA."""
    narrow = [weight for weight in scales if weight.shape[0] != hidden]
    mixer = layer.mixer
    if mixer is None or not narrow:
        return Saved()
    if mixer.kind == Mix.LATENT:
        return Saved(whole=each * sum(weight.shape[0] for weight in narrow))
    return Saved(split=each * mixer.heads * mixer.key_dim, kv=each * mixer.kv_heads * mixer.key_dim)


def _mixer(layer: Layer, mixer: Mixer, hidden: int, habit: Habit) -> Saved:
    """Queries, keys, values and output; the score matrix without flash attention; the input of projections."""
    width = habit.compute
    if mixer.kind in STATE_MIXERS:
        return _state_mixer(layer, habit)
    latent = mixer.kind == Mix.LATENT
    keys = (mixer.heads if latent else mixer.kv_heads) * (mixer.key_dim + mixer.value_dim)
    queries = mixer.heads * (mixer.key_dim + mixer.value_dim)
    saved = Saved(
        split=width * (queries + (keys if latent else 0)) + STAT_BYTES * mixer.heads,
        kv=0 if latent else width * keys,
        whole=habit.input * mixer.latent_dim if latent and habit.full else 0,
    )
    if habit.full:
        saved += Saved(stream=habit.input * hidden)
    if not habit.flash and habit.recompute != "selective":
        copies = width * (mixer.heads - mixer.kv_heads) * (mixer.key_dim + mixer.value_dim)
        saved += Saved(pair=SCORE_BYTES * mixer.heads, split=copies)
    return saved


def _state_mixer(layer: Layer, habit: Habit) -> Saved:
    """Linear attention and SSM: inputs and outputs of the projections, and once more after convolution and gate."""
    matrices = [weight for weight in layer.weights if is_matrix(weight) and part(weight) == "mixer"]
    outputs = sum(weight.shape[0] for weight in matrices if weight.cut != Cut.IN)
    inputs = sum(weight.shape[1] for weight in matrices if weight.cut == Cut.IN)
    entry = max((weight.shape[1] for weight in matrices if weight.cut != Cut.IN), default=0)
    return Saved(split=habit.compute * 2 * (outputs + inputs), stream=habit.input * entry * habit.full)


def _ffn(ffn: Ffn, hidden: int, habit: Habit) -> Saved:
    """Gate, activated gate and up (or the pre-activation alone), the input, and the input of down where it learns."""
    wide = habit.compute * _wide(ffn, habit)
    base = Saved(stream=habit.input * hidden * habit.full)
    if not ffn.experts:
        return base + Saved(split=wide * ffn.width)
    sent = 2 * habit.compute * hidden * habit.full + habit.compute * hidden
    routed = Saved(
        expert=ffn.per_tok * wide * ffn.width, stream=ffn.per_tok * sent, whole=2 * STAT_BYTES * ffn.experts
    )
    return base + routed + Saved(split=wide * ffn.shared_width)


def _wide(ffn: Ffn, habit: Habit) -> float:
    """Tensors as wide as the ffn, in units of one activation."""
    own = (2 if habit.trainer.fused_glu else 3) if ffn.gated else 1
    product = habit.input / habit.compute if habit.full else 0
    return own + product


def _keeps_products_only(habit: Habit) -> bool:
    """Selective recompute of every operation that is no matrix product."""
    return habit.recompute == "selective" and habit.trainer.selective == "ops"


def _dropouts(layer: Layer, hidden: int, habit: Habit) -> Saved:
    """One mask byte an element after each half of the layer."""
    if not habit.dropout or not habit.full:
        return Saved()
    halves = (layer.mixer is not None) + (layer.cross is not None) + (layer.ffn is not None)
    return Saved(stream=hidden * halves)


def targets_of(layer: Layer, habit: Habit) -> tuple[Weight, ...]:
    """Matrices that carry an adapter."""
    if habit.full:
        return ()
    return tuple(weight for weight in layer.weights if not is_bias(weight) and is_target(weight, habit.targets))


def _adapters(layer: Layer, habit: Habit) -> Saved:
    """Inputs of the adapters, each in its own copy or shared, and a mask where they drop out."""
    targets = targets_of(layer, habit)
    width = habit.compute if habit.autocast else max(habit.compute, habit.trainer.adapter)
    each = width + (1 if habit.dropout else 0)
    rows = targets if habit.trainer.cast_inputs else tuple({weight.shape[-1]: weight for weight in targets}.values())
    total = Saved()
    for weight in rows:
        size = each * weight.shape[-1] * (weight.used or weight.copies)
        total += Saved(split=size) if weight.cut in {Cut.IN, Cut.EXPERT} else Saved(stream=size)
    return total
