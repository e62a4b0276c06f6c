"""Errors of inference memory by source, and the 80 % bands with each source left out.

    python -m lab.memory_serving MEMORY.csv [--write]

`--write` renews those tables [bands.*] of data/corrections/memory_serving.toml that enough figures speak of;
the other terms there are set by hand, from the logs in data/measured_serving.csv.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigright.base.errors import RigError
from rigright.base.tables import DATA, read_cells
from rigright.base.units import GIB
from rigright.verbs.validate.kinds.memory import KIND
from rigright.verbs.validate.memory_rows import predict_memory_row

TERMS = DATA / "corrections" / "memory_serving.toml"
ENOUGH = 20  # figures, to fit a band on
AIM = 0.82  # share of figures a band shall hold
SURE_STEPS = np.array([0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05])
STRETCHES = np.array([0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.1, 1.5])


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure, and what was counted and estimated of it."""

    source: str
    kind: str
    measured: float
    predicted: float
    sure: float
    unsure: float

    @property
    def error(self) -> float:
        """Relative."""
        return self.predicted / self.measured - 1


def main() -> None:
    """Print, and write where asked."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("table", type=Path)
    asked.add_argument("--write", action="store_true")
    options = asked.parse_args()
    figures = read(options.table)
    by_source(figures)
    kinds = sorted({one.kind for one in figures})
    bands = {kind: fit(own) for kind in kinds if len(own := of_kind(figures, kind)) >= ENOUGH}
    for kind, (sure, low, high) in bands.items():
        print(f"band {kind}: sure {sure:g}, low {low:g}, high {high:g}")
    left_out(figures)
    if options.write:
        write(bands)


def read(table: Path) -> list[Figure]:
    """Predict every row that can be predicted."""
    found = []
    with table.open(encoding="utf-8", newline="") as file:
        for raw in csv.DictReader(file):
            cells, _ = read_cells(raw, KIND.columns)
            try:
                one = predict_memory_row(cells)
            except RigError as error:
                print(f"{raw['id']}: {error}")
                continue
            found.append(
                Figure(
                    source=raw["source"].partition("@")[0].partition("(")[0].strip(),
                    kind=one.kind,
                    measured=cells["value_gib"] * GIB,
                    predicted=one.value_bytes,
                    sure=one.sure_bytes,
                    unsure=one.unsure_bytes,
                )
            )
    return found


def of_kind(figures: list[Figure], kind: str) -> list[Figure]:
    """Those that share a band."""
    return [one for one in figures if one.kind == kind]


def by_source(figures: list[Figure]) -> None:
    """A line for each source and kind of figure."""
    groups = defaultdict(list)
    for one in figures:
        groups[one.source, one.kind].append(abs(one.error))
    for (source, kind), errors in sorted(groups.items()):
        median, high, worst = np.median(errors), np.quantile(errors, 0.9), max(errors)
        told = f"{median:6.2%} median {high:6.2%} p90 {worst:6.1%} worst"
        print(f"{source[:44]:44} {kind:12} {len(errors):4}  {told}")


def holds(one: Figure, band: tuple[float, float, float]) -> bool:
    """Whether the measured figure lies in the band."""
    sure, low, high = band
    least = one.predicted - sure * one.sure - (1 - low) * one.unsure
    most = one.predicted + sure * one.sure + (high - 1) * one.unsure
    return least <= one.measured <= most


def fit(figures: list[Figure]) -> tuple[float, float, float]:
    """The narrowest band that holds as many as it shall, each source weighing the same."""
    bands = [
        (float(sure), 1 - min(float(down), 1.0), 1 + float(up))
        for sure in SURE_STEPS
        for down in STRETCHES
        for up in STRETCHES
    ]
    good = [band for band in bands if coverage(figures, band) >= AIM]
    widest = (float(SURE_STEPS[-1]), 0.0, 1 + float(STRETCHES[-1]))
    return min(good, key=lambda band: (round(width(figures, band), 6), band[2] - band[1]), default=widest)


def width(figures: list[Figure], band: tuple[float, float, float]) -> float:
    """Mean width of the bands, relative to the figures."""
    sure, low, high = band
    return float(
        np.mean([(2 * sure * one.sure + (high - low) * one.unsure) / one.predicted for one in figures])
    )


def coverage(figures: list[Figure], band: tuple[float, float, float]) -> float:
    """Share of figures held, sources weighing the same."""
    held = defaultdict(list)
    for one in figures:
        held[one.source].append(holds(one, band))
    return float(np.mean([np.mean(flags) for flags in held.values()]))


def left_out(figures: list[Figure]) -> None:
    """How bands fitted on the others hold a source nobody has seen."""
    for kind in sorted({one.kind for one in figures}):
        own = of_kind(figures, kind)
        for source in sorted({one.source for one in own}):
            others = [one for one in own if one.source != source]
            unseen = [one for one in own if one.source == source]
            if others:
                held = np.mean([holds(one, fit(others)) for one in unseen])
                print(f"left out {source[:44]:44} {kind:12} band holds {held:.0%} of {len(unseen)}")


def write(bands: dict[str, tuple[float, float, float]]) -> None:
    """Renew the bands that were fitted; the others stay."""
    text = TERMS.read_text(encoding="utf-8")
    for kind, (sure, low, high) in bands.items():
        table = f"[bands.{kind}]\nsure = {sure:g}\nlow = {low:g}\nhigh = {high:g}\n"
        text = re.sub(rf"\[bands\.{kind}\]\n(?:\w+ = .*\n)+", table, text)
    TERMS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
