"""Terms of power and their bands from measured watts, each family of models left out in turn.

    python -m lab.power SERVING_ENERGY.csv... [--chip nvidia-hopper]

Prints what belongs into data/corrections/power.toml: `compute`, `work` of the class; `low`, `high` are the
quantiles of measured over predicted watts of families that the fit had not seen. `idle` and `awake` are set
by hand, from sources.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rigright.base.tables import read_cells
from rigright.cost.power import SUBJECT
from rigright.facts.corrections import corrections
from rigright.verbs.validate.ask import runs_of
from rigright.verbs.validate.kinds import serving_energy
from rigright.verbs.validate.served_asks import read_served

EDGE = 0.09  # of the runs left out lie beyond either end of a band: 82 % inside
SOFT = 0.03  # logarithm: errors beyond count less
ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Drawn:
    """Runs of one class of chips: what was in use, and watts over the rating."""

    compute: np.ndarray
    work: np.ndarray
    rest: np.ndarray  # idle and awake
    share: np.ndarray
    family: np.ndarray

    def take(self, rows: np.ndarray) -> Drawn:
        """Some of them."""
        return Drawn(*(getattr(self, name)[rows] for name in self.__slots__))

    def errors(self, terms: np.ndarray) -> np.ndarray:
        """log(predicted/measured)."""
        value = np.minimum(self.rest + terms[0] * self.compute + terms[1] * self.work, 1.0)
        return np.asarray(np.log(value / self.share))


def read(tables: list[Path], chips: str) -> Drawn:
    """One entry a run: its rows of throughput."""
    asks, watts = [], []
    for table in tables:
        with table.open(encoding="utf-8", newline="") as file:
            for raw in csv.DictReader(file):
                row, _ = read_cells(raw, serving_energy.KIND.columns)
                if row["metric"] == serving_energy.OUTPUT and row.get(serving_energy.WATTS):
                    ask = read_served(row)
                    if ask.chip.tdp_w and ask.chip.kind.id == chips:
                        asks.append(ask)
                        watts.append(row[serving_energy.WATTS] / ask.chip.tdp_w)
    compute, work = (
        runs_of([replace(ask, metric=metric) for ask in asks]).figures()
        for metric in ("compute_busy", "work_busy")
    )
    terms = [ask.chip.terms_in(corrections(SUBJECT)["chips"]) for ask in asks]
    return Drawn(
        compute=compute,
        work=work,
        rest=np.array([term["idle"] + term["awake"] for term in terms]),
        share=np.array(watts),
        family=np.array([ask.case.arch.family for ask in asks]),
    )


def fit(runs: Drawn) -> np.ndarray:
    """`compute` and `work`: damped least squares on a soft error, families alike."""
    each = np.array([1 / np.sum(runs.family == name) for name in runs.family])
    terms, damp = np.array([0.5, 0.5]), 1e-2

    def loss(terms: np.ndarray) -> float:
        return float(np.sum(each * SOFT * (np.hypot(runs.errors(terms), SOFT) - SOFT)))

    for _ in range(ROUNDS):
        off = runs.errors(terms)
        slopes = np.stack([(runs.errors(terms + turn) - off) / 1e-4 for turn in 1e-4 * np.eye(2)], axis=1)
        weights = each / np.hypot(off / SOFT, 1)
        square = slopes.T @ (slopes * weights[:, None])
        turned = np.linalg.solve(square + damp * np.diag(np.diag(square)), slopes.T @ (weights * off))
        tried = np.maximum(terms - turned, 0.0)
        better = loss(tried) < loss(terms)
        terms, damp = (tried, damp / 4) if better else (terms, damp * 4)
    return terms


def left_out(runs: Drawn) -> np.ndarray:
    """Errors of each family by a fit without it."""
    values = np.empty(len(runs.share))
    for name in sorted(set(runs.family)):
        mine = runs.family == name
        values[mine] = runs.take(mine).errors(fit(runs.take(~mine)))
    return values


def main() -> None:
    """Print terms, errors and bands."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("tables", type=Path, nargs="+")
    asked.add_argument("--chip", default="nvidia-hopper", help="class of chips")
    options = asked.parse_args()
    runs = read(options.tables, options.chip)
    compute, work = fit(runs)
    off = left_out(runs)
    low, high = np.exp(np.quantile(-off, [EDGE, 1 - EDGE]))
    families = sorted(set(runs.family))
    typical = np.mean([np.median(np.abs(off[runs.family == name])) for name in families])
    print(f"[chips.{options.chip}]  # {len(runs.share)} runs, {len(families)} families")
    print(f"compute = {compute:.2f}\nwork = {work:.2f}\nlow = {low:.2f}\nhigh = {high:.2f}")
    print(f"# families left out: median error {typical:.1%} (families alike), bias {np.median(off):+.1%}")
    for name in families:
        mine = off[runs.family == name]
        text = f"{np.median(np.abs(mine)):6.1%}  bias {np.median(mine):+.1%}"
        print(f"#   {name:24} {len(mine):4} runs  {text}")


if __name__ == "__main__":
    main()
