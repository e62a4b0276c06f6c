"""memory.csv: weight files, and memory of engines part by part and in total."""

from rigright.verbs.validate.memory_rows import predict_memory
from rigright.verbs.validate.record import TableKind, each

KIND = TableKind(
    name="memory",
    marks=("format", "what", "value_gib"),
    metrics=lambda raw: (raw.get("what") or "memory",),
    answers=each(predict_memory),
    needed=("what",),
    measured=("value_gib",),
)
