"""training.csv: throughput and peak memory of training runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rigright.base.errors import RigError
from rigright.base.tables import Row
from rigright.base.units import show_bytes, to_gib
from rigright.base.words import Sentence, say, with_semicolons
from rigright.cost.bands import figure_of
from rigright.cost.memory_anchors import PEAK as PEAK_PART
from rigright.cost.memory_anchors import TRAINING as MEMORY
from rigright.cost.memory_anchors import trained_case
from rigright.cost.unsaid import Integrated
from rigright.predict import trained_unsaid
from rigright.predict.trained import SUBJECT as TIME
from rigright.predict.trained import own_case
from rigright.predict.trained_unsaid import FigureFound, OpenFigure, figures_of
from rigright.terms.training import program_of
from rigright.verbs.validate.record import Answer, Basis, Prediction, TableKind, caught, each_caught
from rigright.verbs.validate.training_rows import TrainingQuestion, read_rows

SPEED, PEAK = "tok_per_s_per_chip", "peak_gib"


def answers(rows: Sequence[Row]) -> list[Answer]:
    """What each row comes to; those alike share their laws, and none takes another with it."""
    read = read_rows(rows)
    asked = [
        (row.get("peak_kind") or "allocated", one)
        for row, one in zip(rows, read, strict=True)
        if isinstance(one, TrainingQuestion)
    ]
    peaks = [_peak_of(one, kind=kind) for kind, one in asked]
    opened = [caught(_speed_of, one) for _, one in asked]
    timed = [one for one in opened if isinstance(one, OpenFigure)]
    found = each_caught(figures_of, [*peaks, *timed])
    speeds = iter(found[len(peaks) :])
    told = iter(
        _both(one, kind=kind, peak=peak, speed=speed if isinstance(speed, RigError) else next(speeds))
        for (kind, one), peak, speed in zip(asked, found, opened, strict=False)
    )
    return [one if isinstance(one, RigError) else next(told) for one in read]


def _both(
    asked: TrainingQuestion, *, kind: str, peak: FigureFound | RigError, speed: FigureFound | RigError
) -> Answer:
    """Speed and peak; what cannot be timed, such as a row that names no chip, still has a peak."""
    if isinstance(peak, RigError):
        return peak
    if isinstance(speed, RigError):
        return Prediction(metric=SPEED, group=SPEED, why=speed.whole), _peak(asked, peak, kind=kind)
    return _speed(asked, speed), _peak(asked, peak, kind=kind)


def _peak_of(asked: TrainingQuestion, *, kind: str) -> OpenFigure:
    assumed = bool(asked.taken.assumed)
    return OpenFigure(open=asked.peaking, figure=kind, limit_bytes=asked.limit_bytes, assumed=assumed)


def _speed_of(asked: TrainingQuestion) -> OpenFigure:
    return OpenFigure(open=asked.timed, figure=trained_unsaid.SPEED)


def _peak(asked: TrainingQuestion, peak: FigureFound, *, kind: str) -> Prediction:
    case = peak.case
    return Prediction(
        metric=PEAK,
        group=kind,
        predicted=to_gib(peak.found.value),
        low=to_gib(peak.found.low),
        high=to_gib(peak.found.high),
        why=with_semicolons((*asked.taken.assumed, *decided(peak.found, show=show_bytes))),
        basis=Basis(
            subject=MEMORY, figure=PEAK_PART, chip="", engine=program_of(case.training),
            model=case.arch.name, case=trained_case(case.training), of=to_gib(peak.passing_bytes),
        ),
    )  # fmt: skip


def _speed(asked: TrainingQuestion, speed: FigureFound) -> Prediction:
    case, found = speed.case, speed.found
    return Prediction(
        metric=SPEED,
        group=SPEED,
        predicted=found.value,
        low=found.low,
        high=found.high,
        why=with_semicolons(
            (*asked.taken.assumed, *asked.taken.timed, *decided(found, show="{:.3g} tok/s".format))
        ),
        basis=Basis(
            subject=TIME, figure=figure_of(SPEED), chip="" if case.chip is None else case.chip.id,
            engine=program_of(case.training), model=case.arch.name,
            case=own_case(case.training),
        ),
    )  # fmt: skip


def decided(found: Integrated, *, show: Callable[[float], object]) -> Iterator[Sentence]:
    """The unsaid input that a figure hangs on most."""
    if found.decides is not None and found.decides.prior.option:
        yield say(
            "add {column}: the result ranges from {least} to {most}",
            column=found.decides.prior.name,
            least=show(found.decides.least), most=show(found.decides.most),
        )  # fmt: skip


def metrics(raw: Mapping[str, str]) -> tuple[str, ...]:
    """Both figures of a run."""
    del raw
    return SPEED, PEAK


KIND = TableKind(
    name="training",
    marks=("micro_batch", "seq_tok", "method"),
    metrics=metrics,
    answers=answers,
    measured=(SPEED, "samples_per_s", "tflops_per_chip", "mfu", PEAK),
)
