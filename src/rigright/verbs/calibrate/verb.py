"""`calibrate --from`: figures re-anchored to runs of the user's own, as far as so few runs are believed.

What is kept is how far each place moves a figure (`cost/own_runs.py` reads it): a chip in an engine, a model
there, a case that was measured (`belief.py` has the law).
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rigright.base.errors import DataError
from rigright.base.words import Sentence, say
from rigright.cost.bands import band, shared_part
from rigright.cost.known import Known, Ran
from rigright.cost.own_runs import FADE, SERVING, TRAINING, distance
from rigright.facts import anchors as store
from rigright.facts.anchors import Anchor, RunCase
from rigright.facts.chips import by_id
from rigright.terms.known import bands_of, known_of_one
from rigright.verbs.calibrate import toml
from rigright.verbs.runs.columns import NOTHING_SAID, RunSetup
from rigright.verbs.validate.record import Judged, Prediction, Validation
from rigright.verbs.validate.verb import validate

COMMON = 0.5  # of the variance that runs of one place share, what other models there have too
MODEL, CASE, RUN = 0.3, 0.4, 0.3  # of the rest; all as runs of a third of the cases told the other two thirds
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


TAIL = 1.2816  # standard deviations from the middle to the edge of an 80 % band
WILD = 1.5  # logarithm: an own run further off than that is another thing than was predicted
LEAST_RATIO = 0.01
LEAST_SPREAD = 0.01  # logarithm
SAME_START = 0.02  # logarithm: as near as roundings of one start lie
MEMORY = frozenset({SERVING, TRAINING})
SHARED = 0.5  # of the variance of a start's parts: what other models on that card and engine have too
HEAD = "# Runs of your own, measured over predicted, as far as believed; made by `rigright calibrate --from`."

Place = tuple[str, str, str, str]  # subject, chip, engine, figure
Measured = tuple[str, RunCase]  # the model, and how it ran
_ORDER = ("model", "weights", "chips", "load", "prompt_tok")
_ALWAYS = ("subject", "chip", "engine", "figure", "shift", "narrow", "runs", "as_of")


@dataclass(frozen=True, slots=True)
class CaseRuns:
    """What was measured in one place: logarithms by case, and how far bands were open."""

    cases: dict[Measured, list[float]] = field(default_factory=dict)
    spreads: list[float] = field(default_factory=list)


def calibrate(
    asked: str | Sequence[str],
    *,
    out: str | None = None,
    setup: RunSetup = NOTHING_SAID,
    progress: Callable[[int], None] = lambda _done: None,
) -> Anchored:
    """Hold own runs against predictions, and save how far each place moves figures."""
    with store.use(store.NONE):
        read = validate(asked, setup=setup, progress=progress)
    case_runs: dict[Place, CaseRuns] = {}
    faults: list[Sentence] = []
    for row in read.rows:
        faults += row.faults
        for prediction in row.predictions:
            faults += _collect(row, prediction, case_runs=case_runs)
    case_runs = {
        place: runs
        for place, runs in case_runs.items()
        if any(_believed(logs) for logs in runs.cases.values())
    }
    if not case_runs:
        raise DataError(_nothing(read, faults[0] if faults else None))
    made: list[AnchorMade] = []
    anchors: list[Anchor] = []
    for place, runs in sorted(case_runs.items()):
        shown, kept = _made(place, runs)
        made.append(shown)
        anchors += kept
    path = Path(out) if out is not None else store.place()
    save(path, anchors)
    return Anchored(
        file=read.file,
        runs=sum(anchor_made.runs for anchor_made in made),
        anchors=tuple(made),
        saved=str(path),
        faults=tuple(faults),
    )


def save(path: Path, made: Sequence[Anchor]) -> None:
    """Write the anchors beside those of other chips, engines and figures that stand there."""
    with store.use(str(path) if path.is_file() else store.NONE):
        old = list(store.anchors())
    replaced = {_place(anchor) for anchor in made}
    kept = [anchor for anchor in old if _place(anchor) not in replaced]
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = sorted([*kept, *made], key=lambda one: (*_place(one), *(getattr(one, name) for name in _ORDER)))
    plain = Anchor(subject="", chip="", engine="", figure="", shift=1.0, narrow=1.0, runs=0)
    usual = asdict(plain) | dict.fromkeys(_ALWAYS)
    stated = [{name: value for name, value in asdict(row).items() if value != usual[name]} for row in rows]
    toml.write(path, "\n".join([HEAD, *("\n[[anchor]]\n" + toml.terms(row) for row in stated)]))


def _collect(row: Judged, prediction: Prediction, *, case_runs: dict[Place, CaseRuns]) -> list[Sentence]:
    """Put a run's ratio where it belongs; what is odd is stated."""
    if prediction.measured is None or (prediction.predicted and prediction.basis is None):
        return []
    if not prediction.predicted or prediction.basis is None:
        return [] if prediction.why is None else [say("row {id}: {why}", id=row.id, why=prediction.why)]
    if prediction.basis.stand_in:
        return [say("row {id}: {why}; ignored", id=row.id, why=prediction.why or "")]
    basis = prediction.basis
    place = (basis.subject, basis.chip, basis.engine, basis.figure)
    runs = case_runs.setdefault(place, CaseRuns())
    logs = runs.cases.setdefault((basis.model, basis.case), [])
    log = _log(prediction, prediction.measured)
    if basis.of and any(abs(log - known) < SAME_START for known in logs):
        return []  # a log tells the same in GiB, blocks and tokens
    logs.append(log)
    if prediction.low is not None and prediction.high is not None:
        runs.spreads.append(
            abs(_log(prediction, prediction.high) - _log(prediction, prediction.low)) / 2 / TAIL
        )
    if abs(log) > WILD:
        return [say("row {id}: {times}x the prediction; ignored", id=row.id, times=f"{math.exp(log):.2g}")]
    return []


def _log(prediction: Prediction, value: float) -> float:
    """How far a value is from what was predicted: as its logarithm, or that of a part it is stated by."""
    of = prediction.basis.of if prediction.basis is not None else 0.0
    predicted = prediction.predicted or 1.0
    ratio = 1 + (value - predicted) / of if of else value / predicted
    log = math.log(max(ratio, LEAST_RATIO))
    return -log if prediction.basis is not None and prediction.basis.inverse else log


def _believed(logs: Sequence[float]) -> tuple[float, ...]:
    return tuple(log for log in logs if abs(log) <= WILD)


def _band(place: Place, runs: CaseRuns) -> tuple[float, float, float]:
    """The edges of a figure's band where nobody measured, and what part of it all runs of a place share."""
    subject, chip, engine, figure = place
    if subject in MEMORY:  # its bands are of parts: each run has its own
        edge = math.exp(max(float(np.median(runs.spreads)), LEAST_SPREAD) * TAIL)
        return 1 / edge, edge, SHARED
    with store.use(store.NONE):
        listed = by_id().get(chip)  # processors are too many to be listed
        known = (
            Known(source=False, bands=bands_of(subject).get("bands", {}))
            if listed is None
            else known_of_one(subject, listed, what=Ran(engine=engine))
        )
        low, high = (float(edge) for edge in band(figure, known=known))
    return low, high, shared_part(figure, known=known)


def _made(place: Place, case_runs: CaseRuns) -> tuple[AnchorMade, list[Anchor]]:
    subject, chip, engine, figure = place
    cases = case_runs.cases
    low, high, shared = _band(place, case_runs)
    spread = (math.log(high) - math.log(low)) / 2 / TAIL
    cells = [
        Cell(model=model, case=case, logs=_believed(logs), seen=tuple(logs))
        for (model, case), logs in cases.items()
        if _believed(logs)
    ]
    wild = [key for key, logs in cases.items() if not _believed(logs)]  # they stay where they were predicted
    result = beliefs(cells, spread=spread, shared=shared)
    runs = sum(len(cell.logs) for cell in cells)
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()

    def anchor(belief: Belief, count: int, **where: Any) -> Anchor:
        shift, narrow = float(f"{belief.shift:.5g}"), float(f"{belief.narrow:.4g}")
        return Anchor(
            subject=subject, chip=chip, engine=engine, figure=figure,
            shift=shift, narrow=narrow, runs=count, as_of=today, **where,
        )  # fmt: skip

    counts = Counter(pair for cell in cells for pair in [(cell.model, cell.case.weights)] * len(cell.logs))
    kept = [
        anchor(result.any_model, runs),
        *(
            anchor(belief, counts[model, weights], model=model, weights=weights)
            for (model, weights), belief in result.models.items()
            if model
        ),
        *(
            anchor(belief, len(cell.logs), model=cell.model, **asdict(cell.case))
            for cell, belief in zip(cells, result.cases, strict=True)
            if cell.model and cell.case.load
        ),
        *(
            anchor(Belief(shift=1.0, narrow=1.0), 0, model=model, **asdict(case))
            for model, case in wild
            if model and case.load
        ),
    ]
    measured = [ratio for cell in cells for ratio in cell.logs]
    here = float(np.median([math.log(belief.shift) for belief in result.cases]))
    narrow = float(np.median([belief.narrow for belief in result.cases]))
    return AnchorMade(
        subject=subject, chip=chip, engine=engine, figure=figure, runs=runs,
        measured_ratio=math.exp(float(np.median(measured))), shift=math.exp(here),
        elsewhere=result.any_model.shift, narrow=narrow,
        low_before=low, high_before=high, low=low**narrow, high=high**narrow,
    ), kept  # fmt: skip


def _place(anchor: Anchor) -> Place:
    return anchor.subject, anchor.chip, anchor.engine, anchor.figure


def _nothing(read: Validation, first: Sentence | None) -> Sentence:
    if first is not None:
        return say(
            "{file} has no run that can be compared with a prediction; {first}", file=read.file, first=first
        )
    return say(
        "{file} ({kind} table) has no measured speed: fill in the measured column",
        file=read.file,
        kind=read.kind,
    )
