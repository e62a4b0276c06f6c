"""Every predicted figure that was measured, for the page's view of accuracy: data/web/accuracy.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from lab.page.left_out import Left
from lab.page.validated import ROOT, SPEEDS, TITLES
from rigright.verbs.validate.record import Judged, Prediction, Validation, source_of

FILE = ROOT / "src" / "rigright" / "data" / "web" / "accuracy.json"
MEMORY = {"memory": "total_gpu_peak", "training": "peak_gib", "own": "peak_gib"}  # what of a kind is stated
KEYS = ("figure", "engine", "chip", "model", "source")
COLUMNS = (*KEYS, "measured", "predicted", "low", "high", "unseen")


def points(estimate: Mapping[str, Validation], left: Left) -> dict[Path, str]:
    """The file: names once, then a line a figure; `unseen`: predicted by terms that know not its source."""
    names: dict[str, dict[str, int]] = {key: {} for key in KEYS}
    lines = []
    for row, prediction in sorted(
        _judged(estimate), key=lambda pair: (pair[1].metric, pair[0].source, pair[0].id)
    ):
        basis = prediction.basis
        keys = (prediction.metric, basis.engine if basis else "", row.chip, row.model, source_of(row))
        places = [
            names[key].setdefault(name or "-", len(names[key])) for key, name in zip(KEYS, keys, strict=True)
        ]
        ratio = left.get((row.id, prediction.metric), {}).get("source_out")
        unseen = None if ratio is None else float(np.exp(ratio)) * float(prediction.measured or 0)
        figures = (prediction.measured, prediction.predicted, prediction.low, prediction.high, unseen)
        lines.append(json.dumps([*places, *map(_short, figures)], separators=(",", ":")))
    head = json.dumps({"columns": COLUMNS, "names": {key: [*counts] for key, counts in names.items()}})
    return {FILE: f'{head[:-1]}, "rows": [\n' + ",\n".join(lines) + "\n]}\n"}


def _judged(result: Mapping[str, Validation]) -> Iterator[tuple[Judged, Prediction]]:
    for kind, validation in result.items():
        wanted = {*TITLES} if kind in SPEEDS else set[str]()
        wanted |= {MEMORY[kind]} if kind in MEMORY else set()
        for row in validation.rows:
            yield from (
                (row, each)
                for each in row.predictions
                if each.metric in wanted and each.predicted and each.measured
            )


def _short(figure: float | None) -> float | None:
    return None if figure is None or not np.isfinite(figure) else float(f"{figure:.4g}")
