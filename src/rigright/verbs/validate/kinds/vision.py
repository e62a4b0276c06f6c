"""vision.csv: samples a second of image and text networks, in inference and in training."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rigright.base.errors import AskError, RigError
from rigright.base.tables import Row
from rigright.base.words import say
from rigright.cost.images.rates import SUBJECT
from rigright.cost.known import Ran
from rigright.facts.anchors import FULL, RunCase
from rigright.facts.chips import Chip
from rigright.predict.images import ImageCases, samples_told
from rigright.verbs.validate.image_rows import ImageAsk, read_image
from rigright.verbs.validate.record import Answer, Basis, Prediction, TableKind, caught, each_caught

SPEED = "samples_per_s"


def answers(rows: Sequence[Row]) -> list[Answer]:
    """Samples a second of all chips together; all rows share a call of the law."""
    read = [caught(read_image, row) for row in rows]
    asks = [one for one in read if isinstance(one, ImageAsk)]
    speeds = iter(each_caught(_speeds, asks))
    return [
        one if isinstance(one, RigError) else _answer(row, one, speed=next(speeds))
        for row, one in zip(rows, read, strict=True)
    ]


def _speeds(asks: Sequence[ImageAsk]) -> list[float]:
    return list(map(float, ImageCases.of([ask.case for ask in asks]).samples_per_s()))


def _answer(row: Row, ask: ImageAsk, *, speed: float | RigError) -> Answer:
    case, model = ask.case, row.get("model") or ""
    if isinstance(speed, RigError):
        return speed
    if not isfinite(speed):
        return AskError(say("no peak rate known for {chip} in this precision", chip=row.get("gpu") or ""))
    told = (row.get(name) for name in ("mode", "precision", "layout", "compile", "framework"))
    ran = RunCase(
        weights=" ".join(filter(None, told)),
        chips=row.get("n_gpus") or 1,
        load=row.get("batch_size") or FULL,
        prompt_tok=row.get("img_size") or row.get("seq_len") or 0.0,
    )
    what = Ran(kind=case.kind.kin, model=model, source=row.get("source") or "", case=ran)
    found = samples_told(speed, place=case.place, what=what, trains=case.trains)
    chip = case.place.id if isinstance(case.place, Chip) else None
    return (
        Prediction(
            metric=SPEED,
            group="train" if case.trains else "infer",
            predicted=found.value,
            low=found.low / ask.wider,
            high=found.high * ask.wider,
            why=ask.assumed,
            basis=None
            if chip is None
            else Basis(subject=SUBJECT, figure="samples", chip=chip, model=model, case=ran),
        ),
    )


KIND = TableKind(
    name="vision",
    marks=("img_size", "batch_size"),
    metrics=lambda _raw: (SPEED,),
    answers=answers,
    measured=(SPEED,),
)
