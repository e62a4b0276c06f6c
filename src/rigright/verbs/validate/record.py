"""Tables of measured runs as `validate` has them: kinds of table, predictions of a row, scores of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from rigright.base.errors import AskError, RigError, maybe
from rigright.base.files import safe_cell, save_text
from rigright.base.record import Inner, dataclass, derived, replace
from rigright.base.tables import CellReader, Row
from rigright.base.words import ENGLISH, Sentence, say, tell
from rigright.cost.estimate import Estimate
from rigright.cost.unsaid import Integrated
from rigright.facts.anchors import ANY, RunCase
from rigright.verbs.runs.columns import columns_of

HEADER = ("id", "metric", "predicted", "low", "high", "answered", "why")
P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")


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


Answer = tuple[Prediction, ...] | RigError  # what a row comes to, or why to nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKind:
    """A kind of file: how its header is known, how its cells are read, how a row is predicted.

    Each file of `kinds/` bears one as `KIND`. An error becomes the `why` of its row.
    """

    name: str
    marks: tuple[str, ...]  # columns no file of this kind lacks
    metrics: Callable[[Mapping[str, str]], tuple[str, ...]]  # of a row, from its raw cells
    answers: Callable[[Sequence[Row]], Sequence[Answer]]  # of many rows at once, none of which takes another
    needed: tuple[str, ...] = ()  # cells that may not be empty
    measured: tuple[str, ...] = ()  # columns of results: a bad cell there hinders no prediction

    @property
    def columns(self) -> Mapping[str, CellReader]:
        """Every column it knows; an empty cell is None."""
        return columns_of(self.name)

    def predict(self, row: Row) -> tuple[Prediction, ...]:
        """What one row comes to; raises its error."""
        (answer,) = self.answers([row])
        if isinstance(answer, RigError):
            raise answer
        return answer


def caught(law: Callable[P, T], *given: P.args, **named: P.kwargs) -> T | RigError:
    """What a law gives, or why it gives nothing: no row takes another with it, whatever it meets."""
    try:
        return law(*given, **named)
    except RigError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a defect of ours is stated in its row
        what = f"{type(error).__name__}: {error}"
        return AskError(say("this row met a defect of rigright ({what}); please report it", what=what))


def lookup(find: Callable[[str], T], asked: str) -> T | None:
    """What a name is found as; None: nobody knows it."""
    return maybe(lambda: find(asked))


def together(law: Callable[[Sequence[A]], Sequence[T]], asked: Sequence[A | RigError]) -> list[T | RigError]:
    """What a law gives of many at once, errors left as they are; where one cannot be, each by itself."""
    whole = caught(law, [error for error in asked if not isinstance(error, RigError)])
    if isinstance(whole, RigError):
        return each(lambda value: law([value])[0], asked)
    result = iter(whole)
    return [error if isinstance(error, RigError) else next(result) for error in asked]


def each(law: Callable[..., T], *columns: Sequence[Any]) -> list[T | RigError]:
    """What a law gives row by row; the first error in the columns of a row stays."""

    def of_row(*cells: Any) -> T:
        for cell in cells:
            if isinstance(cell, RigError):
                raise cell
        return law(*cells)

    return [caught(of_row, *cells) for cells in zip(*columns, strict=True)]


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


def predictions_csv(validation: Validation, language: str = ENGLISH) -> str:
    """One line a row and metric."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADER)
    for row in validation.rows:
        for prediction in row.predictions:
            why = tell(prediction.why, language) if prediction.why is not None else ""
            answered = "no" if prediction.predicted is None else "yes"
            table.writerow(
                (safe_cell(row.id), prediction.metric, *_figures(prediction), answered, safe_cell(why))
            )
    return out.getvalue()


def _figures(prediction: Prediction) -> tuple[str, str, str]:
    figures = (prediction.predicted, prediction.low, prediction.high)
    predicted, low, high = ("" if figure is None else f"{figure:.6g}" for figure in figures)
    return predicted, low, high


def write_predictions(validation: Validation, asked: str, *, language: str = ENGLISH) -> None:
    """Write the table of predictions."""
    save_text(asked, predictions_csv(validation, language))


NEAR = 0.2  # an error that most can live with


def source_name(source: str) -> str:
    """A source's name without the page inside it: what stands before the first colon."""
    return source.partition(":")[0].strip() or "-"


def source_of(row: Judged) -> str:
    """The same of a row."""
    return source_name(row.source)


DIMENSIONS: dict[str, Callable[[Judged], str]] = {
    "source": source_of,
    "chip": lambda row: row.chip or "-",
    "model": lambda row: row.model or "-",
}


def scores(rows: Iterable[Judged]) -> tuple[Score, ...]:
    """Every score of a file; rows without a measured figure do not count."""
    pairs = [
        (row, prediction) for row in rows for prediction in row.predictions if prediction.measured is not None
    ]
    result: list[Score] = []
    for dimension, key in DIMENSIONS.items():
        groups: dict[tuple[str, str, str], list[Prediction]] = {}
        for row, prediction in pairs:
            groups.setdefault((prediction.metric, prediction.group, key(row)), []).append(prediction)
        result += [_score(dimension, place, members=groups[place]) for place in sorted(groups)]
    # the mean over sources of each figure, for what may be pooled
    by_group: dict[tuple[str, str], list[Score]] = {}
    for score in result:
        if score.of == "source":
            by_group.setdefault((score.metric, score.group), []).append(score)
    return (*(_mean(*place, members=by_group[place]) for place in sorted(by_group)), *result)


def _score(dimension: str, place: tuple[str, str, str], *, members: list[Prediction]) -> Score:
    errors = np.array([prediction.error for prediction in members if prediction.error is not None])
    inside = [prediction.holds for prediction in members if prediction.holds is not None]
    widths = [prediction.width for prediction in members if prediction.width is not None]
    metric, group, name = place
    figures = {
        "median_error": float(np.median(np.abs(errors))),
        "p90_error": float(np.quantile(np.abs(errors), 0.9)),
        "within_20_percent": float(np.mean(np.abs(errors) <= NEAR)),
        "bias": float(np.median(errors)),
    } if len(errors) else {}  # fmt: skip
    return Score(
        of=dimension, name=name, metric=metric, group=group, measured=len(members), answered=len(errors),
        band_coverage=sum(inside) / len(inside) if inside else None,
        width=float(np.median(widths)) if widths else None,
        **figures,
    )  # fmt: skip


def _mean(metric: str, group: str, *, members: list[Score]) -> Score:
    means: dict[str, float | None] = {}
    for name in ("median_error", "p90_error", "within_20_percent", "bias", "band_coverage", "width"):
        known = [figure for score in members if (figure := getattr(score, name)) is not None]
        means[name] = sum(known) / len(known) if known else None
    return Score(
        of="group", name=group, metric=metric, group=group,
        measured=sum(score.measured for score in members),
        answered=sum(score.answered for score in members),
        **means,
    )  # fmt: skip
