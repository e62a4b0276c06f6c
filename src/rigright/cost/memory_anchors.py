"""Memory corrected by the user's own runs: the start-up step, fixed overhead, KV cache, a training's peak.

Weights and states are counted and never corrected. A log that shows only the KV cache tells the sum of
everything beside weights: its factor applies to that sum, so that it holds for another memory fraction or
model. A training's peak corrects what comes and goes within a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Numbers, Training
from rigright.facts.anchors import Anchor, RunCase

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
    from rigright.cost.anchored import moved

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
