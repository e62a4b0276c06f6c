"""vision.csv: samples a second of image and text networks, in inference and in training."""

from __future__ import annotations

from math import isfinite

from rigright.base.errors import AskError
from rigright.base.tables import CellReader, Row, number, text
from rigright.base.words import say
from rigright.cost.bands import banded
from rigright.cost.images.rates import SUBJECT
from rigright.cost.known import Known, Ran, known_of_one
from rigright.facts.anchors import FULL, RunCase
from rigright.verbs.validate.cells import MOST_RANKS, MOST_RATE, MOST_TOK, count, figure, side
from rigright.verbs.validate.image_cases import cases, samples_per_s
from rigright.verbs.validate.image_rows import read_image
from rigright.verbs.validate.record import Basis, Prediction, TableKind

SPEED = "samples_per_s"
_TEXTS = "id source model gpu mode precision layout compile framework note"
COLUMNS: dict[str, CellReader] = {
    **dict.fromkeys(_TEXTS.split(), text),
    **dict.fromkeys(("params_m", "gmacs", "mactivs", SPEED), figure(MOST_RATE)),
    **dict.fromkeys(("seq_len", "batch_size"), count(MOST_TOK)),
    "img_size": side,
    "padding_skipped": lambda cell: float(bool(number(cell))),
    "n_gpus": lambda cell: None if number(cell) == 0 else count(MOST_RANKS)(cell),
}


def predict(row: Row) -> tuple[Prediction, ...]:
    """Samples a second of all chips together."""
    ask = read_image(row)
    speed = float(samples_per_s(cases([ask]))[0])
    if not isfinite(speed):
        raise AskError(say("no peak rate known for {chip} in this precision", chip=row.get("gpu") or ""))
    figure = "samples, training" if ask.train else "samples"
    told = (row.get(name) for name in ("mode", "precision", "layout", "compile", "framework"))
    case = RunCase(
        weights=" ".join(filter(None, told)),
        chips=row.get("n_gpus") or 1,
        load=row.get("batch_size") or FULL,
        prompt_tok=row.get("img_size") or row.get("seq_len") or 0.0,
    )
    found = banded(
        SUBJECT,
        figure,
        value=speed,
        known=known_of_one(
            SUBJECT,
            ask.chip,
            what=Ran(
                kind=ask.kind.kin,
                model=row.get("model") or "",
                source=row.get("source") or "",
                case=case,
            ),
        )
        if ask.chip is not None
        else Known(source=False),
    )
    return (
        Prediction(
            metric=SPEED,
            group="train" if ask.train else "infer",
            measured=row.get(SPEED),
            predicted=float(found.value),
            low=float(found.low) / ask.wider,
            high=float(found.high) * ask.wider,
            why=ask.assumed,
            basis=None
            if ask.chip is None
            else Basis(
                subject=SUBJECT, figure="samples", chip=ask.chip.id, model=row.get("model") or "", case=case
            ),
        ),
    )


KIND = TableKind(
    name="vision",
    columns=COLUMNS,
    marks=("img_size", "batch_size"),
    metrics=lambda _raw: (SPEED,),
    predict=predict,
    measured=(SPEED,),
)
