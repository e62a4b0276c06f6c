"""serving_energy.csv: served rows of inference.csv, with watts of a GPU and joules of an output token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rigright.base.errors import RigError
from rigright.base.record import replace
from rigright.base.tables import Row
from rigright.cost.estimate import Estimate
from rigright.cost.power import Busy, draw_w
from rigright.predict.columns import unlike
from rigright.terms.fitted import power_band, power_terms
from rigright.verbs.validate.ask import RunAsk, runs_of
from rigright.verbs.validate.kinds import inference
from rigright.verbs.validate.kinds.inference import read_loaded, speeds
from rigright.verbs.validate.record import Answer, Prediction, TableKind, each, together
from rigright.verbs.validate.served_asks import read_served

WATTS, JOULES, OUTPUT = "avg_power_w_per_gpu", "energy_j_per_token", "output_tok_s_total"


def _answers(rows: Sequence[Row]) -> list[Answer]:
    """The figure each row measures, and what its GPUs draw meanwhile."""
    asks = each(lambda row: read_served({**row, "metric": WATTS}), rows)
    served = speeds(each(lambda row: read_loaded({**row, "metric": OUTPUT}), rows))
    made = [
        Prediction(metric=OUTPUT, group=OUTPUT, why=error.whole) if isinstance(error, RigError) else error[0]
        for error in served
    ]
    return each(
        lambda own, ask, watts, output: (*own, *_drawn(ask, watts, made=output)),
        inference.answers(rows), asks, together(_watts, asks), made,
    )  # fmt: skip


def _watts(asks: Sequence[RunAsk]) -> list[float]:
    named = ("compute_busy", "work_busy")
    compute, work = (runs_of([replace(ask, metric=name) for ask in asks]).figures() for name in named)
    chips, chip_of = unlike([ask.chip for ask in asks])
    drawn = draw_w(power_terms(chips), Busy(compute=compute, work=work), at=chip_of)
    return [float(value) for value in drawn.value]


def _drawn(ask: RunAsk, watts: float, *, made: Prediction) -> tuple[Prediction, ...]:
    """Watts by what the passes keep in use; joules are those over the tokens, with the doubts of both."""
    if not np.isfinite(watts) or made.predicted is None or made.low is None or made.high is None:
        return tuple(Prediction(metric=name, group=name, why=made.why) for name in (WATTS, JOULES))
    edges = np.log(power_band(ask.chip))
    low, high = watts * np.exp(edges)
    most = float(min(high, max(ask.chip.tdp_w or high, watts)))
    joules = watts * len(ask.case.cards) / made.predicted
    rates = np.log(np.array([made.predicted / made.high, made.predicted / made.low]))
    least, dearest = joules * np.exp(np.sign(edges) * np.hypot(edges, rates))
    figures = (
        (WATTS, Estimate(value=watts, low=float(low), high=most)),
        (JOULES, Estimate(value=joules, low=float(least), high=float(dearest))),
    )
    return tuple(Prediction.of(name, estimate, why=made.why) for name, estimate in figures)


KIND = TableKind(
    name="serving_energy",
    marks=("engine", "mode", "metric", WATTS, JOULES),
    metrics=lambda raw: (raw.get("metric") or "value", WATTS, JOULES),
    answers=_answers,
    needed=("metric",),
    measured=("value", WATTS, JOULES),
)
