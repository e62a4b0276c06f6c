"""Errors of runs that were left out: kept in docs/accuracy/, and checked against today's terms."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lab.conformal import Coverage
from lab.leave_out import DIMENSIONS
from lab.page.validated import ROOT, PredictedFigure
from lab.refit import Refit
from lab.refitting import refitted
from lab.writing import FOLDER as CORRECTIONS
from lab.writing import bands_text
from rigright.verbs.calibrate import toml

FOLDER = ROOT / "docs" / "accuracy"
HELD = FOLDER / "coverage.csv"
HEAD = ("id", "metric", "predicted", *(f"{by}_out" for by in DIMENSIONS))
SAME = 0.01  # logarithm: a kept prediction nearer to today's is today's

Left = Mapping[tuple[str, str], Mapping[str, float]]  # row and metric -> way -> log(predicted/measured)


def renew(names: Sequence[str]) -> None:
    """Leave out again, around the terms as they stand; bands come from the same runs."""
    for subject, done, files in refitted(names, still=True):
        _write(FOLDER / f"left_out_{subject.name}.csv", done)
        _write_coverage(subject.name, done.coverages)
        text = bands_text(subject.name, done, files=files)
        toml.write(CORRECTIONS / f"bands_{subject.name}.toml", text)
        print(f"{subject.name}: {len(done.fitted.problem.keys)} runs left out", flush=True)


def _write(path: Path, done: Refit) -> None:
    FOLDER.mkdir(exist_ok=True)
    keys = done.fitted.problem.keys
    columns = [done.fitted.after, *(left_out.errors for left_out in done.left)]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEAD)
        for place, row in enumerate(key.get("id", "") for key in keys):
            ratios = (column[place] for column in columns)
            shown = ("" if np.isnan(ratio) else f"{np.exp(ratio):.4g}" for ratio in ratios)
            table.writerow((row, keys[place].get("metric", ""), *shown))


def _write_coverage(name: str, coverages: Sequence[Coverage]) -> None:
    kept = [row for row in _rows(HELD) if row["subject"] != name] if HELD.is_file() else []
    fresh = [
        {
            "subject": name,
            "by": coverage.by,
            "name": coverage.name,
            "runs": coverage.runs,
            "inside": f"{coverage.inside:.4f}",
        }
        for coverage in coverages
    ]
    with HELD.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ("subject", "by", "name", "runs", "inside"), lineterminator="\n")
        table.writeheader()
        table.writerows(sorted([*kept, *fresh], key=lambda row: (row["subject"], row["by"], row["name"])))


def kept() -> Left:
    """What was kept of runs left out."""
    fields: dict[tuple[str, str], dict[str, float]] = {}
    for path in sorted(FOLDER.glob("left_out_*.csv")):
        for row in _rows(path):
            ways = {name: row[name] for name in HEAD[2:] if row[name]}
            fields[row["id"], row["metric"]] = {
                name: float(np.log(float(cell))) for name, cell in ways.items()
            }
    return fields


def coverages() -> list[Coverage]:
    """How many runs bands hold that they never saw: averages by subject, under its name."""
    return [
        Coverage(
            by=f"{row['subject']}:{row['by']}",
            name=row["name"],
            runs=int(row["runs"]),
            inside=float(row["inside"]),
        )
        for row in (_rows(HELD) if HELD.is_file() else [])
    ]


def stale(runs: Mapping[tuple[str, str], PredictedFigure], left: Left) -> list[str]:
    """Runs whose kept prediction is not today's: then what was left out belongs to other terms."""
    return [
        row
        for (row, metric), run in runs.items()
        if (row, metric) in left and abs(left[row, metric].get("predicted", run.off) - run.off) > SAME
    ]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
