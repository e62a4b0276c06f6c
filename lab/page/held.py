"""Predictions held against runs: every kind of file validated once, two at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigright.verbs.validate.frame import validate
from rigright.verbs.validate.scores import scores, source_of
from rigright.verbs.validate.validation import Judged, Prediction, Validation

ROOT = Path(__file__).parent.parent.parent
RUNS = ROOT.parent / "shared" / "measured"
OWN = ROOT / "src" / "rigright" / "data" / "runs" / "training.csv"
SPEEDS = {  # files with speeds -> the subjects whose terms predict them
    "inference": ("speed_serving", "speed_streams"),
    "training": ("speed_training",),
    "vision": ("speed_images",),
}
POWERS = ("avg_power_w_per_gpu", "energy_j_per_token")  # told beside the speeds
OTHERS = {"peer_aiconfigurator", "speculative", "china_base", "china_inference"}  # tables of other things
COMMUNITY = "llmfit_runs"  # runs that anybody sent in: little trust, told apart
TITLES = {
    "ttft_ms": "TTFT",
    "tpot_ms": "TPOT",
    "output_tok_s_total": "output tokens/s",
    "decode_tok_s_per_user": "decode tokens/s, one user",
    "prefill_tok_s": "prefill tokens/s",
    "latency_ms": "request or batch latency",
    "tok_per_s_per_chip": "training tokens/s",
    "samples_per_s": "images or samples/s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedFigure:
    """One figure of one run that was predicted."""

    id: str
    metric: str
    source: str
    chip: str
    model: str
    note: str
    measured: float
    predicted: float
    holds: bool | None
    group: str = ""  # what may be pooled with it

    @property
    def off(self) -> float:
        """log(predicted/measured)."""
        return float(np.log(self.predicted / self.measured))


def validated() -> Mapping[str, Validation]:
    """Every file of measured runs, those of a kind together; and our own table of training runs."""
    paths = [path for path in (*RUNS.glob("*.csv"), *RUNS.glob("new/*.csv")) if path.stem not in OTHERS]
    with ProcessPoolExecutor(max_workers=2) as pool:
        found = list(pool.map(validate, map(str, [*sorted(paths), OWN])))
    told: dict[str, list[Validation]] = {}
    for path, one in zip([*sorted(paths), OWN], found, strict=True):
        name = "own" if path == OWN else COMMUNITY if path.stem == COMMUNITY else one.kind
        told.setdefault(name, []).append(one)
    return {name: _together(name, ones) for name, ones in told.items()}


def _together(name: str, ones: Sequence[Validation]) -> Validation:
    rows = tuple(row for one in ones for row in one.rows)
    return Validation(file=", ".join(one.file for one in ones), kind=name, rows=rows, scores=scores(rows))


def speed_runs(found: Mapping[str, Validation]) -> dict[tuple[str, str], PredictedFigure]:
    """Every predicted speed that was measured, by row and metric."""
    pairs = (
        (row, one)
        for kind in SPEEDS
        for row in found[kind].rows
        for one in row.predictions
        if one.metric in TITLES and one.predicted and one.measured
    )
    return {(row.id, one.metric): _run(row, one) for row, one in pairs}


def _run(row: Judged, one: Prediction) -> PredictedFigure:
    return PredictedFigure(
        id=row.id,
        metric=one.metric,
        source=source_of(row),
        chip=row.chip or "-",
        model=row.model or "-",
        note=row.source,
        measured=float(one.measured or 0),
        predicted=float(one.predicted or 0),
        holds=one.holds,
        group=one.group,
    )
