"""Predictions corrected by the user's own runs: on a chip and engine, for a model, near what was measured.

Each anchor gives the total factor at its place. A measured case moves by its own anchor; a case nearby by
the anchors around it, less with distance; beyond that by what the model's runs have in common, then by
what all models' runs have in common.

Of memory the start-up step, fixed overhead, KV cache and a training's peak move. Weights and states are
counted and never corrected. A log that shows only the KV cache tells the sum of everything beside weights:
its factor applies to that sum, so that it holds for another memory fraction or model. A training's peak
corrects what comes and goes within a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Numbers, Training
from rigright.facts.anchors import Anchor, RunCase

FADE = 3.0  # doublings of load after which a neighbour tells a third
_LENGTH = 0.5  # a doubling of a length, in doublings of load
_SAME = 1e-6


def moved(own: Sequence[Anchor], *, model: str, asked: RunCase) -> tuple[float, float]:
    """Factor of a figure and what is left of its band's width, by anchors of one chip, engine and figure."""
    if not own:
        return 1.0, 1.0
    mine = [
        anchor
        for anchor in own
        if anchor.model == model and anchor.weights in {"", asked.weights or anchor.weights}
    ]
    wide = [anchor for anchor in own if not anchor.model]
    shift, narrow = _mean([anchor for anchor in mine if anchor.model and not anchor.load] or wide)
    cases = [anchor for anchor in mine if anchor.model and anchor.load and anchor.apart == asked.apart]
    if not asked.load or not cases:
        return shift, narrow
    far = [distance(anchor.case, asked) for anchor in cases]
    nearest = min(far)
    if nearest < _SAME:
        return _mean([anchor for anchor, away in zip(cases, far, strict=True) if away < _SAME])
    weights = [1 / away**2 for away in far]
    fade = math.exp(-nearest / FADE) / sum(weights)
    logs = [
        fade
        * sum(
            weight * math.log(getattr(anchor, name) / level)
            for weight, anchor in zip(weights, cases, strict=True)
        )
        for name, level in (("shift", shift), ("narrow", narrow))
    ]
    return shift * math.exp(logs[0]), min(1.0, narrow * math.exp(logs[1]))


def _mean(anchors: Sequence[Anchor]) -> tuple[float, float]:
    """Of anchors that say the same of a case, such as those of several formats where none is named."""
    if not anchors:
        return 1.0, 1.0
    shift = math.exp(sum(math.log(anchor.shift) for anchor in anchors) / len(anchors))
    return shift, max(anchor.narrow for anchor in anchors)


def distance(run_case: RunCase, asked: RunCase) -> float:
    """Between two cases, in doublings of load; what either leaves unsaid is no distance."""
    pairs = (
        (1.0, run_case.load, asked.load),
        (1.0, run_case.chips, asked.chips),
        (_LENGTH, run_case.prompt_tok, asked.prompt_tok),
        (_LENGTH, run_case.output_tok, asked.output_tok),
    )
    return sum(scale * abs(math.log2(left / right)) for scale, left, right in pairs if left and right)


SERVING, TRAINING = "memory_serving", "memory_training"
STEP, BESIDE, GRAPHS, ALL = "activations", "beside tensors", "CUDA graphs", "beside weights"
PEAK = "peak"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMemory:
    """Factors by part, and what is left of each band's width; empty where nobody measured."""

    shift: dict[str, float] = field(default_factory=dict)
    narrow: dict[str, float] = field(default_factory=dict)


NONE = OwnMemory()


def own_memory(own: Sequence[Anchor], *, model: str, case: RunCase) -> OwnMemory:
    """What own runs of an engine on a chip say of a model there, near a case."""
    if not own:
        return NONE
    placed = {
        name: moved([anchor for anchor in own if anchor.figure == name], model=model, asked=case)
        for name in sorted({anchor.figure for anchor in own})
    }
    return OwnMemory(
        shift={name: shift for name, (shift, _) in placed.items()},
        narrow={name: narrow for name, (_, narrow) in placed.items()},
    )


def largest(asked: Numbers) -> float:
    """A choice among several counts as its largest; what has no end says nothing."""
    most = float(np.max(np.asarray(asked, dtype=float), initial=0.0))
    return most if np.isfinite(most) else 0.0


def trained_case(training: Training) -> RunCase:
    """What tells one training from another, as own peaks are told apart."""
    return RunCase(
        weights=training.method, load=largest(training.micro_batch), prompt_tok=largest(training.seq_tok)
    )
