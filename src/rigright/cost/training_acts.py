"""Activations of a stage: kept for the backward pass, working set of one layer, logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rigright.arch.record import Arch, Layer, Mixer, Tower
from rigright.cost.training_params import ends, learners, trunk_of
from rigright.cost.training_saved import (
    SCORE_BYTES,
    STAT_BYTES,
    Saved,
    layer_input,
    layer_saved,
    layer_working,
    saved_bytes,
)
from rigright.cost.training_setup import Setup
from rigright.cost.training_stages import in_flight
from rigright.cost.training_states import kv_heads_of
from rigright.demand import Layout, Numbers

LOSS_CHUNK = 10  # bytes an element of the stream that a chunked loss works with
OPTIONAL = frozenset({"vision", "audio"})  # towers a step of text alone does not run


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """Bytes on one rank of a stage."""

    kept: Numbers  # all that waits for its backward pass
    returned: Numbers  # layer inputs and their gradients that stay to its end
    working: Numbers  # of the layer whose backward runs
    loss: Numbers  # logits, their fp32 copies and gradients


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Tokens of one micro-batch on one rank."""

    setup: Setup
    layout: Layout
    kv_heads: int
    samples: Numbers
    seq_tok: Numbers

    @property
    def tokens(self) -> Numbers:
        return self.samples * self.seq_tok

    def of(self, saved: Saved) -> Numbers:
        return saved_bytes(saved, self.tokens, self.seq_tok, self.layout, self.kv_heads)


def activations(
    arch: Arch, setup: Setup, layout: Layout, counts: dict[Layer, Numbers], stage: Numbers
) -> Acts:
    """What a stage holds at the start of the backward pass that hurts most."""
    trunk = trunk_of(arch)
    batch = _batch(arch, setup, layout, trunk)
    flight = in_flight(setup.training, layout, stage)
    kept, working = _kept(batch, trunk, counts)
    others = _beside(arch, setup, layout)
    first, last, _ = ends(arch, layout, stage)
    return Acts(
        kept=(kept + others * np.where(first, 1, 0)) * flight,
        returned=_returned(batch, trunk, counts),
        working=working,
        loss=_loss(arch, batch, trunk.hidden) * np.where(last, 1, 0),
    )


def _batch(arch: Arch, setup: Setup, layout: Layout, tower: Tower) -> _Batch:
    seq = np.asarray(setup.training.seq_tok if tower.sample_tok is None else tower.sample_tok, dtype=float)
    return _Batch(
        setup=setup,
        layout=layout,
        kv_heads=kv_heads_of(arch),
        samples=np.asarray(setup.training.micro_batch, dtype=float),
        seq_tok=seq / np.asarray(layout.cp),
    )


def _kept(batch: _Batch, tower: Tower, counts: dict[Layer, Numbers]) -> tuple[Numbers, Numbers]:
    """Bytes kept over all layers of one micro-batch, and the most that one layer works with."""
    recomputed = batch.setup.habit.recompute == "full"
    kept: Numbers = 0.0
    working: Numbers = 0.0
    for layer, times in counts.items():
        saved, passing = _layer(batch, tower, layer)
        inputs = batch.of(layer_input(layer, tower.hidden, batch.setup.habit))
        kept = kept + times * (inputs if recomputed else saved)
        there = np.where(np.asarray(times) > 0, 1, 0)
        again = (saved - inputs * _is_kept(batch.setup)) * recomputed
        working = np.maximum(working, there * (again + passing))
    return kept, working


def _returned(batch: _Batch, tower: Tower, counts: dict[Layer, Numbers]) -> Numbers:
    """FSDP around a frozen base lets go of layer inputs and of their gradients only after the last layer."""
    setup = batch.setup
    if setup.full or not setup.gathered or not setup.trainer.keeps_input_grads:
        return np.zeros(())
    stream = Saved(stream=2 * setup.habit.compute * tower.hidden)
    return sum((batch.of(stream) * times for times in counts.values()), start=np.zeros(())) - batch.of(stream)


def _is_kept(setup: Setup) -> bool:
    """Whether the first norm of a recomputed layer keeps the layer's input itself, not a copy in fp32."""
    return setup.trainer.fused_norm or setup.habit.residual == STAT_BYTES


def _layer(batch: _Batch, tower: Tower, layer: Layer) -> tuple[Numbers, Numbers]:
    """Bytes one layer saves, and what its backward holds beside them."""
    habit = batch.setup.habit
    if not layer.map_elems:
        return batch.of(layer_saved(layer, tower.hidden, habit)), batch.of(layer_working(layer, tower.hidden, habit))
    scores = 0 if habit.flash else sum(_pairs(mixer, batch.seq_tok) for mixer in (layer.mixer, layer.cross) if mixer)
    saved = batch.samples * (habit.compute * layer.kept_elems + scores)
    return saved, batch.samples * habit.compute * 2 * max(layer.map_elems)


def _pairs(mixer: Mixer, tokens: Numbers) -> Numbers:
    return SCORE_BYTES * mixer.heads * tokens**2


def _beside(arch: Arch, setup: Setup, layout: Layout) -> Numbers:
    """Layers of the other towers that learn and always run (an encoder): kept like the trunk's."""
    trunk, total = trunk_of(arch), np.zeros(())
    for tower in learners(arch):
        if tower is trunk or (tower.name in OPTIONAL and trunk.name in {"text", "decoder"}):
            continue
        counts = {layer: tower.layers.count(layer) for layer in dict.fromkeys(tower.layers)}
        total = total + _kept(_batch(arch, setup, layout, tower), tower, counts)[0]
    return total


def _loss(arch: Arch, batch: _Batch, hidden: int) -> Numbers:
    """Logits as they stand at the peak, with the input of the last norm and of the head."""
    if not arch.vocab or arch.task not in {"text", "image-text", "audio-text", "speech"}:
        return np.zeros(())
    habit, training = batch.setup.habit, batch.setup.training
    logit = 0 if training.chunked_loss else habit.trainer.logit
    tp = np.asarray(batch.layout.tp)
    if not logit:
        return batch.tokens * hidden * LOSS_CHUNK
    return batch.tokens * (arch.vocab * logit / tp + hidden * (4 + habit.compute))
