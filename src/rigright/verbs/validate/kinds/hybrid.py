"""hybrid.csv: models of which a part, or all, lies in main memory, with the machine around the cards."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.tables import Row
from rigright.verbs.validate.hybrid_asks import read_hybrid
from rigright.verbs.validate.kinds.inference import SpeedRow, speeds
from rigright.verbs.validate.record import Answer, TableKind, each


def answers(rows: Sequence[Row]) -> list[Answer]:
    """The figure each row measures."""
    return speeds(each(lambda row: SpeedRow(row=row, asks=(read_hybrid(row),)), rows))


KIND = TableKind(
    name="hybrid",
    marks=("offload", "metric", "cpu", "n_gpus"),
    metrics=lambda raw: (raw.get("metric") or "value",),
    answers=answers,
    needed=("metric",),
    measured=("value",),
)
