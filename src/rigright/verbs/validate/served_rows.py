"""Rows of inference.csv that were served: loads of many, in a closed loop or as much as fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rigright.base.tables import Row
from rigright.base.units import KILO
from rigright.base.words import say, with_semicolons
from rigright.cost.bands import estimate, figure_of
from rigright.cost.known import Known, known_of_one, ran
from rigright.cost.speed.told import at, most_output
from rigright.facts.anchors import RunCase
from rigright.verbs.validate.record import Basis, Prediction
from rigright.verbs.validate.served_asks import ServedAsk, read_served
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
    case = RunCase(
        weights=ask.weights,
        chips=ask.chips,
        load=ask.load or 0.0,
        prompt_tok=ask.prompt_tok,
        output_tok=ask.output_tok,
        apart=bool(row.get("disagg")),
    )
    known = known_of_one(
        SUBJECT, ask.chip, what=ran(ask.arch, engine=ask.engine.id, source=row.get("source"), case=case)
    )
    figure = figure_of(metric, split=bool(row.get("disagg")))
    found = estimate(SUBJECT, figure, value=value, known=known)
    if known.shift:
        found = at(found, _together(ask, found.value, metric=metric, known=known))
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
            engine=ask.engine.id, model=ask.arch.name, case=case,
        ),
    )  # fmt: skip


def _together(ask: ServedAsk, value: float, *, metric: str, known: Known) -> float:
    """A figure that own runs moved, beside the others that they moved: they hang together still.

    Output is never above concurrency over TPOT; a latency that nobody measured is TTFT and TPOT together.
    """
    if ask.load is None or metric not in {"output_tok_s_total", "latency_ms"}:
        return value
    ttft_ms, tpot_ms = (
        float(best_of_rows(group_cases([one]), [one])[0]) * float(known.shift.get(figure_of(one.metric), 1.0))
        for one in (replace(ask, metric="ttft_ms"), replace(ask, metric="tpot_ms"))
    )
    if metric == "output_tok_s_total":
        return float(most_output(value, tpot_ms / KILO, load=ask.load))
    measured = float(known.narrow.get("latency", 1.0)) < 1
    return value if measured else ttft_ms + max(ask.output_tok - 1, 0) * tpot_ms
