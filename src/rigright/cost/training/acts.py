"""Activations of a stage: saved for the backward pass, working set of one layer, logits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from rigright.arch.record import Layer, Tower
from rigright.base.record import dataclass, replace
from rigright.cost.training.learners import companions, kv_heads_of, trunk_of
from rigright.cost.training.saved import (
    SCORE_BYTES,
    STAT_BYTES,
    Batch,
    Habit,
    Saved,
    layer_input,
    layer_saved,
    layer_working,
)
from rigright.cost.training.setup import TrainingStage, in_flight
from rigright.demand import Numbers

LOSS_CHUNK = 10  # bytes an element of the stream that a chunked loss works with
SPEAKING = frozenset({"text", "image-text", "audio-text", "speech"})  # tasks that make logits a token


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """Bytes on one rank of a stage."""

    kept: Numbers  # all that waits for its backward pass
    returned: Numbers  # layer inputs and their gradients that stay to its end
    working: Numbers  # of the layer whose backward runs
    ending: Numbers  # of the last layer to run backward, with what it kept
    loss: Numbers  # logits, their fp32 copies and gradients


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """One micro-batch through one tower."""

    batch: Batch
    habit: Habit
    counts: Mapping[Layer, Numbers]


def activations(stage: TrainingStage) -> Acts:
    """What a stage holds at the start of the backward pass that hurts most."""
    trunk = _pass(stage, trunk_of(stage.arch))
    beside = sum((_kept(_pass(stage, tower)) for tower in companions(stage.arch)), start=np.zeros(()))
    # FSDP around a frozen base lets go of layer inputs and of their gradients only after the last layer
    setup = stage.setup
    if setup.full or not setup.gathered or not setup.trainer.keeps_input_grads:
        returned = np.zeros(())
    else:
        stream = trunk.batch.size_of(Saved(stream=2 * trunk.habit.compute * trunk.habit.hidden))
        returned = stream * (sum(trunk.counts.values()) - 1)
    return Acts(
        kept=(_kept(trunk) + beside * stage.first) * in_flight(stage),
        returned=returned,
        working=_working(trunk, with_saved=trunk.habit.recompute == "full"),
        ending=_working(trunk, with_saved=True),
        loss=_loss(stage, trunk) * stage.last,
    )


def _pass(stage: TrainingStage, tower: Tower) -> _Pass:
    """The stage's share of the trunk, or all of another tower."""
    training = stage.setup.training
    seq = np.asarray(training.seq_tok if tower.sample_tok is None else tower.sample_tok, dtype=float)
    return _Pass(
        batch=Batch(
            samples=np.asarray(training.micro_batch, dtype=float),
            seq_tok=seq / np.asarray(stage.layout.cp),
            layout=stage.layout,
            kv_heads=kv_heads_of(stage.arch),
        ),
        habit=replace(stage.setup.habit, hidden=tower.hidden),
        counts=stage.counts if tower is trunk_of(stage.arch) else Counter(tower.layers),
    )


def _kept(through: _Pass) -> Numbers:
    """Bytes kept over all layers of one micro-batch."""
    if through.habit.recompute == "full":
        return through.batch.size_of(layer_input(through.habit)) * sum(through.counts.values())
    saved = (_saved(through, layer) * times for layer, times in through.counts.items())
    return sum(saved, start=np.zeros(()))


def _working(through: _Pass, *, with_saved: bool) -> Numbers:
    """The most that one layer works with: its gradients and, where asked, what it saved (again)."""
    habit = through.habit
    counted = habit.recompute == "full" and _is_kept(habit)  # among what is kept already
    first = through.batch.size_of(layer_input(habit)) * counted
    largest = np.zeros(())
    for layer, times in through.counts.items():
        there = np.where(np.asarray(times) > 0, 1, 0)
        # what the backward pass of one layer holds beside what it saved
        if layer.map_elems:
            gradients = through.batch.samples * through.habit.compute * 2 * max(layer.map_elems)
        else:
            gradients = through.batch.size_of(layer_working(layer, through.habit))
        largest = np.maximum(largest, there * ((_saved(through, layer) - first) * with_saved + gradients))
    return largest


def _is_kept(habit: Habit) -> bool:
    """Whether the first norm of a recomputed layer keeps the layer's input itself, not a copy in fp32."""
    return habit.trainer.fused_norm or habit.residual == STAT_BYTES


def _saved(through: _Pass, layer: Layer) -> Numbers:
    """Bytes one layer saves."""
    habit, batch = through.habit, through.batch
    if not layer.map_elems:
        return batch.size_of(layer_saved(layer, habit))
    mixers = [] if habit.flash else [mixer for mixer in (layer.mixer, layer.cross) if mixer]
    scores = sum((SCORE_BYTES * mixer.heads * batch.seq_tok**2 for mixer in mixers), start=np.zeros(()))
    return batch.samples * (habit.compute * layer.kept_elems + scores)


def _loss(stage: TrainingStage, through: _Pass) -> Numbers:
    """Logits as they stand at the peak, with the input of the last norm and of the head."""
    if not stage.arch.vocab or stage.arch.task not in SPEAKING:
        return np.zeros(())
    habit, batch, post = through.habit, through.batch, stage.setup.training.post
    tokens = batch.samples * batch.seq_tok
    if stage.setup.objective is not None and not stage.setup.objective.logits:
        return tokens * habit.hidden * (STAT_BYTES + habit.compute)
    if post is not None and post.completion_tok:  # no logits of prompts
        tokens = tokens * post.completion_tok / np.asarray(stage.setup.training.seq_tok)
    if not stage.setup.logit:
        return tokens * habit.hidden * LOSS_CHUNK
    logits = stage.arch.vocab * stage.setup.logit / np.asarray(stage.layout.tp)
    return tokens * (logits + habit.hidden * (STAT_BYTES + habit.compute))
