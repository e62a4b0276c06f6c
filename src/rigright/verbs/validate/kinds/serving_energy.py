"""serving_energy.csv: served rows of inference.csv, with watts of a GPU and joules of an output token."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rigright.base.tables import CellReader, Row
from rigright.terms.power import power_band
from rigright.verbs.validate.cells import MOST_RATE, figure
from rigright.verbs.validate.kinds import inference
from rigright.verbs.validate.record import Prediction, TableKind
from rigright.verbs.validate.served_asks import read_served
from rigright.verbs.validate.served_cases import figures_of
from rigright.verbs.validate.served_rows import predict_served

WATTS, JOULES, OUTPUT = "avg_power_w_per_gpu", "energy_j_per_token", "output_tok_s_total"
COLUMNS: dict[str, CellReader] = {**inference.COLUMNS, **dict.fromkeys((WATTS, JOULES), figure(MOST_RATE))}


def predict(row: Row) -> tuple[Prediction, ...]:
    """The figure a row measures, and what its GPUs draw meanwhile."""
    return (*inference.predict(row), *_drawn(row))


def _drawn(row: Row) -> Iterator[Prediction]:
    """Watts by what the passes keep in use; joules are those over the tokens, with the doubts of both."""
    ask = read_served({**row, "metric": WATTS})
    watts = float(figures_of([ask])[0])
    output = predict_served({**row, "metric": OUTPUT})
    if not np.isfinite(watts) or output.predicted is None or output.low is None or output.high is None:
        yield from (Prediction(metric=name, group=name, why=output.why) for name in (WATTS, JOULES))
        return
    edges = np.log(power_band(ask.chip))
    low, high = watts * np.exp(edges)
    yield Prediction(
        metric=WATTS, group=WATTS, measured=row.get(WATTS), predicted=watts, low=float(low),
        high=float(min(high, max(ask.chip.tdp_w or high, watts))), why=output.why,
    )  # fmt: skip
    joules = watts * ask.chips / output.predicted
    rates = np.log(np.array([output.predicted / output.high, output.predicted / output.low]))
    low, high = joules * np.exp(np.sign(edges) * np.hypot(edges, rates))
    yield Prediction(
        metric=JOULES, group=JOULES, measured=row.get(JOULES), predicted=joules, low=float(low),
        high=float(high), why=output.why,
    )  # fmt: skip


KIND = TableKind(
    name="serving_energy",
    columns=COLUMNS,
    marks=("engine", "mode", "metric", WATTS, JOULES),
    metrics=lambda raw: (raw.get("metric") or "value", WATTS, JOULES),
    predict=predict,
    needed=("metric",),
    measured=("value", WATTS, JOULES),
)
