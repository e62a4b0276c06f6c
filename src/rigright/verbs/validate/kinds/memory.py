"""memory.csv: weight files, and memory of engines part by part and in total."""

from __future__ import annotations

from rigright.base.tables import Row, number, text, yes
from rigright.base.words import with_semicolons
from rigright.verbs.validate.cells import MOST_RANKS, MOST_TOK, count, figure
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
        "value_gib": figure(MOST_TOK),
        "note": text,
        **dict.fromkeys(("engine", "engine_version", "chip", "enforce_eager", "dtype", "quantization"), text),
        **dict.fromkeys(("tp", "pp", "dp", "n_chips"), count(MOST_RANKS)),
        **dict.fromkeys(("fa", "on_device"), yes),
        **dict.fromkeys(
            ("prompt_tok", "output_tok", "max_model_len", "max_num_batched_tokens", "max_num_seqs"),
            count(MOST_TOK),
        ),
        **dict.fromkeys(("gpu_memory_utilization", "total_memory_gib", "free_at_start_gib"), number),
    },
    marks=("format", "what", "value_gib"),
    metrics=lambda raw: (raw.get("what") or "memory",),
    answers=each(_predict),
    needed=("what",),
    measured=("value_gib",),
)
