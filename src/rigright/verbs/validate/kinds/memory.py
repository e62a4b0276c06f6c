"""memory.csv: weight files, and memory of engines part by part and in total."""

from __future__ import annotations

from rigright.base.tables import Row
from rigright.base.words import with_semicolons
from rigright.verbs.validate.memory_rows import predict_memory_row
from rigright.verbs.validate.record import Prediction, TableKind, each


def _predict(row: Row) -> tuple[Prediction, ...]:
    found = predict_memory_row(row)
    return (
        Prediction(
            metric=row["what"],
            group=row["what"],
            predicted=found.value_bytes / found.unit,
            low=found.low_bytes / found.unit,
            high=found.high_bytes / found.unit,
            why=with_semicolons(found.assumed),
            basis=found.basis,
        ),
    )


KIND = TableKind(
    name="memory",
    marks=("format", "what", "value_gib"),
    metrics=lambda raw: (raw.get("what") or "memory",),
    answers=each(_predict),
    needed=("what",),
    measured=("value_gib",),
)
