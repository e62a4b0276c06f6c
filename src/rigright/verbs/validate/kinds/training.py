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
from rigright.predict.trained import SUBJECT as TIME
from rigright.predict.trained import TrainingCase, own_case, setup_of
from rigright.predict.trained_unsaid import Open, PeakAsked, PeakFound, peaks, speeds
from rigright.terms.training import program_of
from rigright.verbs.validate.record import Answer, Basis, Prediction, TableKind, caught, each_caught
from rigright.verbs.validate.training_rows import TrainingQuestion, read_row

Asked = tuple[Row, TrainingQuestion]
SPEED, PEAK = "tok_per_s_per_chip", "peak_gib"


def answers(rows: Sequence[Row]) -> list[Answer]:
    """What each row comes to; those alike share their laws, and none takes another with it."""
    read = [caught(read_row, row) for row in rows]
    asked = [(row, one) for row, one in zip(rows, read, strict=True) if isinstance(one, TrainingQuestion)]
    peaks = each_caught(_peaks, asked)
    speeds = each_caught(_speeds, asked)
    found = iter([_both(speed, peak) for speed, peak in zip(speeds, peaks, strict=True)])
    return [one if isinstance(one, RigError) else next(found) for one in read]


def _both(speed: Prediction | RigError, peak: Prediction | RigError) -> Answer:
    """Speed and peak; what cannot be timed, such as a row that names no chip, still has a peak."""
    if isinstance(peak, RigError):
        return peak
    if isinstance(speed, RigError):
        return Prediction(metric=SPEED, group=SPEED, why=speed.whole), peak
    return speed, peak


def _peaks(asked: Sequence[Asked]) -> list[Prediction]:
    """The peak of each, over all that nobody said."""
    kinds = [row.get("peak_kind") or "allocated" for row, _ in asked]
    found = peaks(
        [
            PeakAsked(
                open=one.peaking, kind=kind, limit_bytes=one.limit_bytes, assumed=bool(one.taken.assumed)
            )
            for kind, (_, one) in zip(kinds, asked, strict=True)
        ]
    )
    return [_peak(one, peak, kind=kind) for kind, (_, one), peak in zip(kinds, asked, found, strict=True)]


def _peak(asked: TrainingQuestion, peak: PeakFound, *, kind: str) -> Prediction:
    case = peak.case
    return Prediction(
        metric=PEAK,
        group=kind,
        predicted=to_gib(peak.found.value),
        low=to_gib(peak.found.low),
        high=to_gib(peak.found.high),
        why=with_semicolons((*asked.taken.assumed, *decided(peak.found, show=show_bytes))),
        basis=Basis(
            subject=MEMORY, figure=PEAK_PART, chip="", engine=program_of(setup_of(case.arch, case.training)),
            model=case.arch.name, case=trained_case(case.training), of=to_gib(peak.passing_bytes),
        ),
    )  # fmt: skip


def _speeds(asked: Sequence[Asked]) -> list[Prediction | RigError]:
    """The speed of each, over all that nobody said."""
    opened = [caught(_opened, one) for _, one in asked]
    timed = [one for one in opened if isinstance(one, Open)]
    found = iter(speeds(timed))
    return [
        one if isinstance(one, RigError) else _speed(question, next(found), case=one.case)
        for one, (_, question) in zip(opened, asked, strict=True)
    ]


def _opened(asked: TrainingQuestion) -> Open:
    return asked.timed


def _speed(asked: TrainingQuestion, speed: Integrated, *, case: TrainingCase) -> Prediction:
    return Prediction(
        metric=SPEED,
        group=SPEED,
        predicted=speed.value,
        low=speed.low,
        high=speed.high,
        why=with_semicolons(
            (*asked.taken.assumed, *asked.taken.timed, *decided(speed, show="{:.3g} tok/s".format))
        ),
        basis=Basis(
            subject=TIME, figure=figure_of(SPEED), chip="" if case.chip is None else case.chip.id,
            engine=program_of(setup_of(case.arch, case.training)), model=case.arch.name,
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
