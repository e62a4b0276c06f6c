"""inference.csv: speed of serving and generation, each row by what its load was."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rigright.base.tables import Row
from rigright.verbs.validate.encoder_rows import is_encoding, predict_encoder
from rigright.verbs.validate.kinds.hybrid import predict as predict_hybrid
from rigright.verbs.validate.record import Answer, Prediction, TableKind, caught
from rigright.verbs.validate.refused import refuse
from rigright.verbs.validate.served_loads import is_loaded
from rigright.verbs.validate.speed_rows import SpeedRow, read_speed, speeds, spills

_SPLIT = re.compile(r"cpu-moe [1-9]|--cpu-moe(?! 0)|=CPU|-ngl [1-8]?\d(?!\d)")  # a part in main memory


def answers(rows: Sequence[Row]) -> list[Answer]:
    """A load of many is served; one stream or one static batch runs alone, some on a processor."""
    return speeds([caught(_read, row) for row in rows])


def _read(row: Row) -> SpeedRow | tuple[Prediction, ...]:
    """A row as it was read; of a processor or an encoder, what it comes to."""
    found, is_served = _as_hybrid(row), _is_served(row)
    if found is not None:
        return predict_hybrid(found)
    if not is_served and is_encoding(row):
        return (predict_encoder(row),)
    return read_speed(row, is_served=is_served)


def _as_hybrid(row: Row) -> Row | None:
    """The row as one of a model that main memory holds a part of, or all; None: cards hold it."""
    refuse(row)
    batch = row.get("batch") or row.get("load") or 1
    if row.get("cpu") and not row.get("chip"):
        return {**row, "gpu": None, "n_gpus": 0, "batch": batch}
    beside = {**row, "gpu": row.get("chip"), "n_gpus": row.get("n_chips") or 1, "batch": batch}
    if _SPLIT.search(row.get("offload") or ""):
        return beside
    return None if _is_served(row) or not spills(row) else beside


def _is_served(row: Row) -> bool:
    """Whether a row is of many requests."""
    return row.get("mode") in {"serve", "max"} or is_loaded(row)


KIND = TableKind(
    name="inference",
    marks=("engine", "mode", "metric"),
    metrics=lambda raw: (raw.get("metric") or "value",),
    answers=answers,
    needed=("metric",),
    measured=("value",),
)
