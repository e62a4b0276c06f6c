"""What a validation found: each row's predictions, and errors by source, chip, model and metric."""

from __future__ import annotations

from typing import Any

from rigright.base.record import Inner, dataclass, derived, replace
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.cost.unsaid import Integrated
from rigright.facts.anchors import ANY, RunCase


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a figure and its band are stated by: own runs of the same basis move it."""

    subject: str  # the table of corrections
    figure: str  # as bands are stated
    chip: str
    engine: str = ""
    model: str = ""
    case: RunCase = ANY
    inverse: bool = False  # what was measured is one over that figure
    of: float = 0.0  # not 0: the figure differs from its prediction by a share of this, in its own unit
    stand_in: bool = False  # something that the row names is not known: the nearest known was taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One figure of one row, in the unit of the file; without `predicted`, `why` says what was missing."""

    metric: str  # as `--predictions` writes it: "peak_gib", "weights_gib", ...
    group: str  # what may be pooled when errors are stated: the peak's kind, or the metric again
    measured: float | None = None  # as the file says
    predicted: float | None = None  # null where it cannot be
    low: float | None = None  # of the 80 % band
    high: float | None = None  # of the 80 % band
    why: Sentence | None = None  # what was missing, or what was assumed
    basis: Inner[Basis | None] = None  # where own runs are kept

    @classmethod
    def of(
        cls, metric: str, estimate: Estimate | Integrated, *, times: float = 1.0, **more: Any
    ) -> Prediction:
        """A figure that was found, so many times in the unit of the file."""
        return cls(
            **{"metric": metric, "group": metric} | more,
            predicted=estimate.value * times,
            low=estimate.low * times,
            high=estimate.high * times,
        )

    def widened(self, factor: float) -> Prediction:
        """The same, its band so much wider on either side."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=self.low / factor, high=self.high * factor)

    @derived
    def answered(self) -> bool:
        """Whether there is a prediction."""
        return self.predicted is not None

    @property
    def error(self) -> float | None:
        """Predicted over measured, less one; None where either is missing."""
        if self.predicted is None or not self.measured:
            return None
        return self.predicted / self.measured - 1

    @property
    def width(self) -> float | None:
        """Of the band: high over low."""
        return self.high / self.low if self.low and self.high else None

    @property
    def holds(self) -> bool | None:
        """Whether the measured figure lies in the band."""
        if self.low is None or self.high is None or self.measured is None:
            return None
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One row of the file with what was predicted for it."""

    line: int  # of the file
    id: str  # of the run
    source: str  # of the run
    chip: Inner[str]
    model: Inner[str]
    predictions: tuple[Prediction, ...]  # one a measured figure
    faults: Inner[tuple[Sentence, ...]] = ()  # measured figures that cannot be read, by line and column


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well a set of predictions did; figures are None where nothing measured was answered."""

    of: str  # "source", "chip", "model", or "group" for the macro average over sources
    name: str  # of the source, chip or model
    metric: str  # as in `predictions`
    group: str  # what was pooled
    measured: int  # rows with a measured figure
    answered: int  # of those, predicted
    median_error: float | None = None  # of absolute relative errors
    p90_error: float | None = None  # of the same
    within_20_percent: float | None = None  # the share of those
    bias: float | None = None  # median signed error
    band_coverage: float | None = None  # share of measured figures inside the band
    width: Inner[float | None] = None  # of the bands, high over low: the middle one


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """A whole file."""

    file: str
    kind: str
    rows: tuple[Judged, ...]
    scores: tuple[Score, ...]
