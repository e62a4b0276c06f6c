"""inference.csv: speed of serving and generation, each row by what its load was."""

from __future__ import annotations

from rigright.base.tables import CellReader, Row, number, text
from rigright.verbs.validate.cells import MOST_RANKS, MOST_RATE, MOST_TOK, count, figure
from rigright.verbs.validate.record import Kind, Prediction
from rigright.verbs.validate.served_rows import predict_served
from rigright.verbs.validate.stream_rows import predict_stream

AS_MUCH_AS_FITS = "max-throughput"  # a load that is no number


_TEXTS = "id source measured engine engine_version model arch chip disagg weights kv mode metric note"
COLUMNS: dict[str, CellReader] = {
    **dict.fromkeys(_TEXTS.split(), text),
    **dict.fromkeys(("n_chips", "tp", "pp", "ep", "attn_dp", "moe_tp"), count(MOST_RANKS)),
    **dict.fromkeys(
        ("prompt_tok", "output_tok"), lambda cell: 0.0 if number(cell) == 0 else figure(MOST_TOK)(cell)
    ),
    "load": lambda cell: None if cell.strip() == AS_MUCH_AS_FITS else figure(MOST_TOK)(cell),
    "value": figure(MOST_RATE),
}


def predict(row: Row) -> tuple[Prediction, ...]:
    """A load of many is served; one stream or one static batch runs alone."""
    served = row.get("mode") in {"serve", "max"}
    return (predict_served(row) if served else predict_stream(row),)


KIND = Kind(
    name="inference",
    columns=COLUMNS,
    marks=("engine", "mode", "metric"),
    metrics=lambda raw: (raw.get("metric") or "value",),
    predict=predict,
    needed=("metric",),
    measured=("value",),
)
