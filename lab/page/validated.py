"""Predictions held against runs: every kind of file validated once, two at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigright.verbs.validate.record import Judged, Prediction, Validation, scores, source_of
from rigright.verbs.validate.verb import validate

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
    paths = [path for path in (*RUNS.glob("*.csv"), *RUNS.glob("new*/*.csv")) if path.stem not in OTHERS]
    with ProcessPoolExecutor(max_workers=2) as pool:
        validations = list(pool.map(validate, map(str, [*sorted(paths), OWN])))
    given: dict[str, list[Validation]] = {}
    for path, validation in zip([*sorted(paths), OWN], validations, strict=True):
        name = "own" if path == OWN else COMMUNITY if path.stem == COMMUNITY else validation.kind
        given.setdefault(name, []).append(validation)
    return {name: _together(name, ones) for name, ones in given.items()}


def _together(name: str, ones: Sequence[Validation]) -> Validation:
    rows = tuple(row for validation in ones for row in validation.rows)
    return Validation(
        file=", ".join(validation.file for validation in ones), kind=name, rows=rows, scores=scores(rows)
    )


def speed_runs(validations: Mapping[str, Validation]) -> dict[tuple[str, str], PredictedFigure]:
    """Every predicted speed that was measured, by row and metric."""
    pairs = (
        (row, prediction)
        for kind in SPEEDS
        for row in validations[kind].rows
        for prediction in row.predictions
        if prediction.metric in TITLES and prediction.predicted and prediction.measured
    )
    return {(row.id, prediction.metric): _run(row, prediction) for row, prediction in pairs}


def _run(row: Judged, item: Prediction) -> PredictedFigure:
    return PredictedFigure(
        id=row.id,
        metric=item.metric,
        source=source_of(row),
        chip=row.chip or "-",
        model=row.model or "-",
        note=row.source,
        measured=float(item.measured or 0),
        predicted=float(item.predicted or 0),
        holds=item.holds,
        group=item.group,
    )
