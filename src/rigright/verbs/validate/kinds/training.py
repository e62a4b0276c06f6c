"""training.csv: throughput and peak memory of training runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rigright.base.errors import RigError
from rigright.base.tables import CellReader, Row, text
from rigright.base.units import to_gib
from rigright.base.words import with_semicolons
from rigright.cost.bands import banded, figure_of
from rigright.cost.known import known_of_one, ran
from rigright.cost.training_bands import KINDS, band
from rigright.cost.training_memory import TrainingMemory, training_memory
from rigright.cost.training_time_rates import SUBJECT
from rigright.facts.chips import by_id
from rigright.verbs.validate.cells import MOST_GIB, MOST_RANKS, MOST_RATE, MOST_TOK, count, figure
from rigright.verbs.validate.record import Basis, Kind, Prediction
from rigright.verbs.validate.training_rows import Asked, read_row
from rigright.verbs.validate.training_speed import read_timed, tok_per_s

SPEED, PEAK = "tok_per_s_per_chip", "peak_gib"
_TEXTS = """id source model arch shape chip interconnect framework precision method optimizer
    sharding recompute flags note"""
COLUMNS: dict[str, CellReader] = {
    **dict.fromkeys(_TEXTS.split(), text),
    **dict.fromkeys(("tp", "pp", "cp", "ep", "dp", "n_chips", "nodes"), count(MOST_RANKS)),
    **dict.fromkeys(("micro_batch", "global_batch", "seq_tok"), count(MOST_TOK)),
    **dict.fromkeys((SPEED, "samples_per_s", "tflops_per_chip", "mfu"), figure(MOST_RATE)),
    PEAK: figure(MOST_GIB),
    "peak_kind": lambda cell: KINDS[KINDS.index(cell.lower())],
}


def predict(row: Row) -> tuple[Prediction, ...]:
    """Tokens a second and chip, and the peak of the worst rank as the row measures it."""
    asked = read_row(row)
    kind = row.get("peak_kind") or "allocated"
    size = to_gib(float(np.max(of_kind(memory_of(asked), kind, limit_bytes=card_bytes(row)))))
    low, high = band(kind, assumed=bool(asked.assumed))
    return _speed(row, asked), Prediction(
        metric=PEAK,
        group=kind,
        measured=row.get(PEAK),
        predicted=size,
        low=size * low,
        high=size * high,
        why=with_semicolons(asked.assumed),
    )


def _speed(row: Row, asked: Asked) -> Prediction:
    """What cannot be timed, such as a row that names no chip, still has a peak."""
    try:
        timed = read_timed(row, asked)
    except RigError as error:
        return Prediction(metric=SPEED, group=SPEED, measured=row.get(SPEED), why=error.whole)
    value = float(tok_per_s([timed])[0])
    known = known_of_one(
        SUBJECT,
        timed.chip,
        what=ran(timed.arch, engine=timed.training.trainer, source=row.get("source")),
    )
    found = banded(SUBJECT, SPEED, value=value, known=known)
    return Prediction(
        metric=SPEED,
        group=SPEED,
        measured=row.get(SPEED),
        predicted=float(found.value),
        low=float(found.low),
        high=float(found.high),
        why=with_semicolons(timed.assumed),
        basis=Basis(
            subject=SUBJECT, figure=figure_of(SPEED), chip=timed.chip.id,
            engine=timed.training.trainer, model=timed.arch.name,
        ),
    )  # fmt: skip


def memory_of(asked: Asked) -> TrainingMemory:
    """Every stage of the pipeline at once."""
    return training_memory(asked.arch, asked.training, layout=asked.layout, stage=np.arange(asked.layout.pp))


def of_kind(memory: TrainingMemory, kind: str, *, limit_bytes: float | None = None) -> np.ndarray:
    """Bytes of each stage as the row measures them; never beyond a card that holds what is needed."""
    if kind == "allocated":
        return np.asarray(memory.allocated_bytes)
    shown = np.asarray(memory.reserved_bytes if kind == "reserved" else memory.device_bytes)
    return shown if limit_bytes is None else np.minimum(shown, np.maximum(memory.least_bytes, limit_bytes))


def card_bytes(row: Row) -> float | None:
    """What the chip of a row holds, where the row names one we know."""
    chip = by_id().get(row.get("chip") or "")
    return None if chip is None else chip.mem_usable_bytes


def metrics(raw: Mapping[str, str]) -> tuple[str, ...]:
    """Both figures of a run."""
    del raw
    return SPEED, PEAK


KIND = Kind(
    name="training",
    columns=COLUMNS,
    marks=("micro_batch", "seq_tok", "method"),
    metrics=metrics,
    predict=predict,
    measured=(SPEED, "samples_per_s", "tflops_per_chip", "mfu", PEAK),
)
