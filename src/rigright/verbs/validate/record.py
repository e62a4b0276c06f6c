"""What a kind of measured file bears, and what is said of each of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rigright.base.tables import CellReader, Row
from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One figure of one row, in the unit of the file; without `predicted`, `why` says what was missing."""

    metric: str  # as `--predictions` writes it: "peak_gib", "weights_gib", ...
    group: str  # what may be pooled when errors are told: the peak's kind, or the metric again
    measured: float | None = None
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    why: Sentence | None = None  # what was missing, or what was assumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file: how its header is known, how its cells are read, how a row is predicted.

    Each file of `kinds/` bears one as `KIND`. `predict` may raise a `RigError`: its sentence
    becomes the `why` of that row, and the next row goes on.
    """

    name: str
    columns: Mapping[str, CellReader]  # every column it knows; an empty cell is None
    marks: tuple[str, ...]  # columns no file of this kind lacks
    metrics: Callable[[Mapping[str, str]], tuple[str, ...]]  # of a row, from its raw cells
    predict: Callable[[Row], tuple[Prediction, ...]]
    needed: tuple[str, ...] = ()  # cells that may not be empty
    later: Sentence | None = None  # known, but not predicted yet: why
