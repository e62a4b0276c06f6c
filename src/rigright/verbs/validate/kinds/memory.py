"""memory.csv: weight files, and memory of engines part by part and in total."""

from __future__ import annotations

from rigright.base.tables import Row, text
from rigright.base.units import from_gib, to_gib
from rigright.base.words import with_semicolons
from rigright.verbs.validate.cells import MOST_GIB, MOST_TOK, count, figure
from rigright.verbs.validate.memory_rows import predict_memory_row
from rigright.verbs.validate.record import Kind, Prediction


def _predict(row: Row) -> tuple[Prediction, ...]:
    found = predict_memory_row(row)
    return (
        Prediction(
            metric=row["what"],
            group=row["what"],
            measured=None if row["value_gib"] is None else to_gib(from_gib(row["value_gib"])),
            predicted=to_gib(found.value_bytes),
            low=to_gib(found.low_bytes),
            high=to_gib(found.high_bytes),
            why=with_semicolons(found.assumed),
        ),
    )


KIND = Kind(
    name="memory",
    columns={
        "id": text,
        "source": text,
        "model": text,
        "arch": text,
        "format": text,
        "context": count(MOST_TOK),
        "batch": count(MOST_TOK),
        "kv": text,
        "what": text,
        "value_gib": figure(MOST_GIB),
        "note": text,
    },
    marks=("format", "what", "value_gib"),
    metrics=lambda raw: (raw.get("what") or "memory",),
    predict=_predict,
    needed=("what",),
    measured=("value_gib",),
)
