"""The metrics that `watch --serve` knows: rows of data/metrics.csv."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, number, read_rows, text

_READERS = {
    "name": text,
    "kind": text,
    "unit": text,
    "labels": text,
    "of": text,
    "field": text,
    "help": text,
    "dcgm": text,
    "dcgm_factor": number,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric."""

    name: str
    kind: str  # "gauge", "counter"
    unit: str | None
    labels: tuple[str, ...]
    of: str  # "device", "activity", "mig", "program", "host", "port", "power", "collector"
    field: str  # of a tick's record, or a word that the tally knows
    help: str
    dcgm: str | None  # the same in NVIDIA's exporter
    dcgm_factor: float | None  # of a value into that one's unit


@cache
def metrics() -> tuple[Metric, ...]:
    """All of them, in the order they are told."""
    rows = read_rows(DATA / "metrics.csv", _READERS, required=("name", "kind", "of", "field", "help"))
    return tuple(Metric(**{**row, "labels": tuple((row["labels"] or "").split())}) for row in rows)
