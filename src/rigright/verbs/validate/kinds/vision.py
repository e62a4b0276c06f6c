"""vision.csv: samples a second of image and text networks, in inference and in training."""

from __future__ import annotations

from math import isfinite

from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import say
from rigright.cost.images.rates import SUBJECT
from rigright.cost.known import Ran
from rigright.facts.anchors import FULL, RunCase
from rigright.facts.chips import Chip
from rigright.predict.images import ImageCases, samples_told
from rigright.verbs.validate.image_rows import read_image
from rigright.verbs.validate.record import Basis, Prediction, TableKind, each

SPEED = "samples_per_s"


def predict(row: Row) -> tuple[Prediction, ...]:
    """Samples a second of all chips together."""
    ask = read_image(row)
    case, model = ask.case, row.get("model") or ""
    speed = float(ImageCases.of([case]).samples_per_s()[0])
    if not isfinite(speed):
        raise AskError(say("no peak rate known for {chip} in this precision", chip=row.get("gpu") or ""))
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
    answers=each(predict),
    measured=(SPEED,),
)
