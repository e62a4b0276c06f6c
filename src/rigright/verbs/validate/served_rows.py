"""Rows of inference.csv that were served: loads of many, in a closed loop or as much as fits."""

from __future__ import annotations

import numpy as np

from rigright.base.tables import Row
from rigright.base.words import say, with_semicolons
from rigright.cost.bands import estimate, figure_of
from rigright.cost.known import known_of_one, ran
from rigright.verbs.validate.record import Basis, Prediction
from rigright.verbs.validate.served_asks import read_served
from rigright.verbs.validate.served_cases import best_of_rows, group_cases

SUBJECT = "speed_serving"


def predict_served(row: Row) -> Prediction:
    """The figure a row measures."""
    metric = row["metric"]
    ask = read_served(row)
    value = float(best_of_rows(group_cases([ask]), [ask])[0])
    if not np.isfinite(value) or value <= 0:
        if np.isnan(value):
            why = say('"{metric}" is not a figure of serving we know', metric=metric)
        else:
            why = say("one request does not fit in the memory of these chips")
        return Prediction(metric=metric, group=metric, why=why)
    known = known_of_one(
        SUBJECT, ask.chip, what=ran(ask.arch, engine=ask.engine.id, source=row.get("source"))
    )
    figure = figure_of(metric, split=bool(row.get("disagg")))
    found = estimate(SUBJECT, figure, value=value, known=known)
    return Prediction(
        metric=metric,
        group=metric,
        measured=row.get("value"),
        predicted=found.value,
        low=found.low,
        high=found.high,
        why=with_semicolons(ask.assumed),
        basis=Basis(
            subject=SUBJECT, figure=figure.partition(",")[0], chip=ask.chip.id,
            engine=ask.engine.id, model=ask.arch.name,
        ),
    )  # fmt: skip
