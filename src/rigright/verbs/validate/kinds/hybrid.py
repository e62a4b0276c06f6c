"""hybrid.csv: models of which a part, or all, lies in main memory, with the machine around the cards."""

from __future__ import annotations

from functools import partial

import numpy as np

from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.units import KILO
from rigright.base.words import say, with_semicolons
from rigright.cost.bands import figure_of
from rigright.facts.hosts import host_chip
from rigright.predict.bands import HYBRID, METRICS, case_of, least_known, tell_known, widened_for_host
from rigright.predict.cases import predict as predict_cases
from rigright.verbs.validate.hybrid_asks import read_hybrid
from rigright.verbs.validate.record import Basis, Prediction, TableKind, each


def predict(row: Row) -> tuple[Prediction, ...]:
    """The figure a row measures."""
    ask = read_hybrid(row)
    case, metric, sent, host = ask.case, ask.metric, ask.traffic, ask.host
    asked = case_of(sent, case.serving.weights, chips=len(case.cards))
    figures = {name: float(values[0]) for name, values in predict_cases([case]).items()}
    known = least_known(
        HYBRID, arch=case.arch, engine=case.engine, chips=(host_chip(host),), case=asked,
        source=row.get("source") or "",
    )  # fmt: skip
    estimates = tell_known(figures, HYBRID, known=widened_for_host(known, host=host), case=asked)
    estimate = estimates.get(METRICS.get(metric, ""))
    if estimate is None or not np.isfinite(estimate.value) or estimate.value <= 0:
        raise AskError(say('"{metric}" is not a single-stream metric', metric=metric))
    return (
        Prediction.of(
            metric,
            estimate,
            times=KILO if metric.endswith("_ms") else 1.0,
            why=with_semicolons(ask.assumed),
            basis=Basis(
                subject=HYBRID,
                figure=figure_of(metric),
                chip=host_chip(host).id,
                engine=case.engine.id,
                model=case.arch.name,
                case=asked,
            ),
        ),
    )


KIND = TableKind(
    name="hybrid",
    marks=("offload", "metric", "cpu", "n_gpus"),
    metrics=lambda raw: (raw.get("metric") or "value",),
    answers=partial(each, predict),
    needed=("metric",),
    measured=("value",),
)
