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
from rigright.predict.beside import beside_told
from rigright.predict.told import HYBRID, METRICS
from rigright.verbs.validate.hybrid_asks import read_hybrid
from rigright.verbs.validate.record import Basis, Prediction, TableKind, each


def predict(row: Row) -> tuple[Prediction, ...]:
    """The figure a row measures."""
    ask = read_hybrid(row)
    case, metric = ask.case, ask.metric
    found = beside_told(case, source=row.get("source") or "").get(METRICS.get(metric, ""))
    if found is None or not np.isfinite(found.value) or found.value <= 0:
        raise AskError(say('"{metric}" is not a single-stream metric', metric=metric))
    return (
        Prediction.of(
            metric,
            found,
            times=KILO if metric.endswith("_ms") else 1.0,
            why=with_semicolons(ask.assumed),
            basis=Basis(
                subject=HYBRID,
                figure=figure_of(metric),
                chip=host_chip(case.host).id,
                engine=case.engine.id,
                model=case.arch.name,
                case=case.asked,
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
