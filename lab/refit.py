"""Refits one subject: terms, errors in sample and left out, and bands from what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.conformal import Bands, Coverage, make_bands
from lab.descent import Progress
from lab.leave_out import A_SOURCE, DIMENSIONS, LeftOut, in_sight, leave_out
from lab.left_runs import LeftRuns, left_runs
from lab.record import Subject, Tables
from lab.solve import Solution, fit
from rigright.base.tables import Row
from rigright.cost.known import source_family
from rigright.verbs.validate.record import source_name


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTerm:
    """One term before and after; None: the table bears none of its own, its class's holds."""

    path: tuple[str, ...]
    before: float | None
    after: float | None
    runs: int  # that move it
    sources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricErrors:
    """Median absolute errors of one metric, averaged over sources."""

    metric: str
    runs: int
    sources: int
    before: float
    after: float
    source_out: float | None
    chip_out: float | None
    model_out: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoverage:
    """How many of the runs left out lie inside bands made without them, a group by the root of its runs."""

    by: str
    groups: int
    runs: int
    inside: float
    worst: str  # the group that is held least
    worst_inside: float
    width: float  # high over low, the middle one


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """One subject with everything its runs say."""

    fitted: Solution
    left: tuple[LeftOut, ...]
    runs: LeftRuns
    bands: Bands
    seen: Mapping[str, Any]
    coverages: tuple[Coverage, ...]


def refit(
    subject: Subject,
    rows: Sequence[Row],
    *,
    tables: Tables,
    still: bool = False,
    progress: Progress | None = None,
) -> Refit:
    """Fit (or, `still`, take the terms as they are), leave out, and make bands."""
    fitted = fit(subject, rows, tables=tables, still=still, progress=progress)
    left = tuple(leave_out(fitted, by) for by in DIMENSIONS)
    runs = left_runs((*left, in_sight(fitted)), fitted.problem.keys)
    bands, coverages = make_bands(runs)
    return Refit(
        fitted=fitted, left=left, runs=runs, bands=bands, coverages=coverages, seen=seen(fitted.problem.keys)
    )


def seen(keys: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The chips, classes, models and sources that runs speak of, and the chips that each engine ran on."""
    names = {"chips": "chip", "classes": "class", "kinds": "kind", "models": "model"}
    families = Counter(source_family(key["source"]) for key in keys if key.get("source"))
    fields: dict[str, Any] = {
        name: sorted({key[text] for key in keys if key.get(text)}) for name, text in names.items()
    }
    fields["sources"] = sorted(source for source, runs in families.items() if runs >= A_SOURCE)
    ran: dict[str, set[str]] = {}
    for key in keys:
        if key.get("engine"):
            ran.setdefault(key["engine"], set()).add(key["chip"])
    return fields | {"engines": {engine: sorted(ran[engine]) for engine in sorted(ran)}}


def moved_terms(fitted: Solution) -> tuple[MovedTerm, ...]:
    """The terms that moved, with the runs behind each."""
    behind = support(fitted)
    return tuple(
        MovedTerm(
            path=moved.path, before=moved.before, after=moved.after,
            runs=behind[moved.path][0], sources=behind[moved.path][1],
        )
        for moved in fitted.moved
    )  # fmt: skip


def support(fitted: Solution) -> dict[tuple[str, ...], tuple[int, int]]:
    """How many runs of how many sources move each term."""
    fields = {}
    for number, dial in enumerate(fitted.problem.hung.dials):
        rows = np.flatnonzero(np.abs(fitted.slopes[:, number]) > 1e-6)
        fields[dial.path] = (len(rows), len({fitted.problem.keys[row].get("source", "") for row in rows}))
    return fields


def metric_errors(done: Refit) -> tuple[MetricErrors, ...]:
    """Median absolute errors by metric, every source alike, in sample and left out."""
    keys = done.fitted.problem.keys
    out = {left_out.by: left_out.errors for left_out in done.left}
    metrics = np.array([key.get("metric", "") for key in keys], dtype=object)
    sources = np.array([source_name(key.get("source", "")) for key in keys], dtype=object)
    result = []
    for metric in sorted(set(metrics)):
        rows = metrics == metric

        def typical(errors: np.ndarray, rows: np.ndarray = rows) -> float:
            return macro_median(errors[rows], sources[rows])

        result.append(
            MetricErrors(
                metric=metric, runs=int(rows.sum()), sources=len(set(sources[rows])),
                before=typical(done.fitted.before), after=typical(done.fitted.after),
                source_out=typical(out["source"]),
                chip_out=typical(out["chip"]),
                model_out=typical(out["model"]),
            )
        )  # fmt: skip
    return tuple(result)


def macro_median(errors: np.ndarray, sources: np.ndarray) -> float:
    """Mean over sources of the median of |predicted/measured - 1|; nan where nothing was answered."""
    sizes = np.abs(np.expm1(errors))
    medians = [
        float(np.median(sizes[mine]))
        for name in sorted(set(sources))
        if (mine := (sources == name) & np.isfinite(sizes)).any()
    ]
    return float(np.mean(medians)) if medians else float("nan")


def coverage_by(coverages: Sequence[Coverage]) -> tuple[GroupCoverage, ...]:
    """Coverage of groups never seen: the average, and the group that is held least."""
    made = []
    for average in (coverage for coverage in coverages if not coverage.name):
        mine = [coverage for coverage in coverages if coverage.by == average.by and coverage.name]
        worst = min(mine, key=lambda coverage: coverage.inside)
        made.append(
            GroupCoverage(
                by=average.by, groups=len(mine), runs=average.runs, inside=average.inside,
                worst=worst.name, worst_inside=worst.inside, width=average.width,
            )
        )  # fmt: skip
    return tuple(made)
