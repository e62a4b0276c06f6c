"""How far own runs are believed: what all of them share, what a model's share, what a case has of its own.

Errors of one chip in one engine are normal in logarithms, and so are their parts: one that every run there
has, one of the model and its format, one of the case, which fades with load and lengths, and one of each run.
Their widths come from the band. Given the runs, mean and deviation of each part are known; and however they
come out, a case that was measured is left between what was predicted and what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rigright.base.words import Sentence
from rigright.cost.own_runs import FADE, distance
from rigright.facts.anchors import RunCase

COMMON = 0.25  # of the variance that runs of one place share, what other models there have too
MODEL, CASE, RUN = 0.3, 0.45, 0.25  # of the rest; all as one run, and four, told others of sources left out
FORMATS = 0.7  # of a model's part, what its formats have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A case and the logarithms of measured over predicted of its runs."""

    model: str
    case: RunCase
    logs: tuple[float, ...]
    seen: tuple[float, ...] = ()  # the same with runs too far off to be believed

    @property
    def middle(self) -> float:
        """The median of its runs."""
        return float(np.median(self.logs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """How far a place moves a figure, as a factor, and what is left of its band's width."""

    shift: float
    narrow: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Beliefs:
    """Of every model, of each model in a format, of each case."""

    any_model: Belief
    models: dict[tuple[str, str], Belief]
    cases: tuple[Belief, ...]  # one a cell


def beliefs(cells: Sequence[Cell], *, spread: float, shared: float) -> Beliefs:
    """What runs of one chip, engine and figure say; `spread` is the deviation of one run, unseen."""
    total, between = spread**2, COMMON * shared * spread**2
    rest = total - between
    alike = np.array([[_alike(left, right) for right in cells] for left in cells])
    near = np.array([[_near(left, right) for right in cells] for left in cells])
    prior = between + rest * (MODEL * alike + CASE * near)
    noise = np.diag([rest * RUN / len(cell.logs) for cell in cells])
    middles = np.array([cell.middle for cell in cells])
    inverse = np.linalg.inv(prior + noise + 1e-9 * total * np.eye(len(cells)))
    least, most = min(0.0, float(middles.min())), max(0.0, float(middles.max()))

    def belief(row: np.ndarray, cell: Cell | None = None) -> Belief:
        mean = float(np.clip(row @ inverse @ middles, least, most))
        left = max(total - float(row @ inverse @ row), rest * RUN)
        if cell is not None:
            mean = _between_all(mean, (*cell.logs, *cell.seen))
        return Belief(shift=math.exp(mean), narrow=min(1.0, math.sqrt(left / total)))

    places = {(cell.model, cell.case.weights): index for index, cell in enumerate(cells)}
    return Beliefs(
        any_model=belief(np.full(len(cells), between)),
        models={place: belief(between + rest * MODEL * alike[index]) for place, index in places.items()},
        cases=tuple(belief(prior[index], cell) for index, cell in enumerate(cells)),
    )


def _between_all(mean: float, logs: Sequence[float]) -> float:
    """A shift that leaves no run of its case beyond, or farther from, what was measured."""
    if mean > 0:
        return max(0.0, min(mean, *logs))
    return min(0.0, max(mean, *logs))


def _alike(left: Cell, right: Cell) -> float:
    if left.model != right.model:
        return 0.0
    return 1.0 if left.case.weights == right.case.weights else FORMATS


def _near(left: Cell, right: Cell) -> float:
    if (left.model, left.case.weights) != (right.model, right.case.weights):
        return 0.0
    return math.exp(-distance(left.case, right.case) / FADE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMade:
    """What runs of the user's own say of one figure of one chip in one engine."""

    subject: str
    chip: str
    engine: str
    figure: str
    runs: int
    measured_ratio: float  # measured over predicted, as the runs say
    shift: float  # of the cases that were measured, as far as so many runs are believed
    elsewhere: float  # of other models
    narrow: float  # of the band's width, what is left
    low_before: float
    high_before: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """Every anchor made from a file of own runs."""

    file: str
    runs: int
    anchors: tuple[AnchorMade, ...]
    saved: str
    faults: tuple[Sentence, ...] = ()
