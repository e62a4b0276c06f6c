"""Which layers a pipeline stage holds, and how many micro-batches are in flight on it."""

from __future__ import annotations

import numpy as np

from rigright.arch.record import Layer
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.demand import Layout, Numbers, Training


def stage_edge(layers: int, stages: Numbers, stage: Numbers) -> Numbers:
    """The first layer of a stage, for arrays; even, the rest to the stages before the last (as `shards`)."""
    stages, stage = np.asarray(stages), np.asarray(stage)
    base, rest = layers // stages, layers % stages
    return stage * base + np.clip(stage - (stages - 1 - rest), 0, rest)


def layer_counts(layers: tuple[Layer, ...], stages: Numbers, stage: Numbers) -> dict[Layer, Numbers]:
    """How many layers of each kind a stage holds."""
    start = stage_edge(len(layers), stages, stage)
    end = stage_edge(len(layers), stages, np.asarray(stage) + 1)
    counts = {}
    for kind in dict.fromkeys(layers):
        before = np.concatenate([[0], np.cumsum([layer is kind or layer == kind for layer in layers])])
        counts[kind] = before[end] - before[start]
    return counts


def micro_batches(training: Training, layout: Layout) -> Numbers:
    """Micro-batches a step gathers: as told, or as many as fill the pipeline."""
    return np.asarray(layout.pp if training.accumulate is None else training.accumulate)


def in_flight(training: Training, layout: Layout, stage: Numbers) -> Numbers:
    """Micro-batches whose activations a stage holds at its worst moment; parts of one where interleaved."""
    if training.schedule not in SCHEDULES:
        raise AskError(
            say(
                'no pipeline schedule is called "{asked}"; write {known}',
                asked=training.schedule,
                known=", ".join(SCHEDULES),
            )
        )
    pp, stage = np.asarray(layout.pp), np.asarray(stage)
    total = micro_batches(training, layout)
    chunks = np.asarray(training.virtual_stages)
    ahead = pp - stage
    held = {
        "1f1b": ahead,
        "gpipe": total,
        "interleaved": np.where(pp > 1, (2 * (ahead - 1) + (chunks - 1) * pp + 1) / chunks, 1),
        "zero-bubble": 2 * ahead - 1,
    }[training.schedule]
    return np.minimum(held, total)


SCHEDULES = ("1f1b", "gpipe", "interleaved", "zero-bubble")
