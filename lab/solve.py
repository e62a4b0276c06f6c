"""Fits the terms of a subject to runs: robust, with priors from class to chip, with numpy alone.

A term that no row moves stays where its class is; one that few rows move goes part of the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.descent import Progress, descend, slopes_at, stand
from lab.problem import Problem, pose
from lab.record import Path, Subject, Tables
from lab.terms import NEAR, drop, put, rounded, start, term
from lab.weights import row_weights
from rigright.base.tables import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A term before and after; None: the table bears none of its own, its class's holds."""

    path: Path
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What a fit found."""

    problem: Problem
    tables: Tables  # as they would be written
    moved: tuple[Moved, ...]
    before: np.ndarray  # log(predicted/measured) of each row; nan: not answered
    after: np.ndarray
    steps: np.ndarray  # of the dials
    slopes: np.ndarray  # of rows' errors by dial: what leaving out starts from


def fit(
    subject: Subject,
    rows: Sequence[Row],
    *,
    tables: Tables,
    still: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """Fit the dials of a subject to its rows, from what its tables say; `still`: leave them as they are."""
    problem = pose(subject, rows, tables=tables)
    begun, weights = start(problem.hung, tables), row_weights(problem.keys)
    if still:
        place = stand(problem, begun, weights=weights)
        slopes, written = slopes_at(problem, place), dict(tables)
    else:
        place, slopes = descend(problem, begun, weights=weights, progress=progress)
        # the tables as they are written: rounded, and without terms that say what their parent says
        hung = problem.hung
        values = {
            dial.path: rounded(float(v)) for dial, v in zip(hung.dials, hung.values(place.steps), strict=True)
        }
        made = put(problem.tables, values)
        for number, dial in enumerate(hung.dials):
            if hung.parents[number] >= 0 and abs(place.steps[number]) < NEAR:
                made = drop(made, dial.path)
        written = made
    both = (
        (dial.path, term(problem.tables, dial.path), term(written, dial.path)) for dial in problem.hung.dials
    )
    return Solution(
        problem=problem,
        tables=written,
        moved=tuple(
            [
                Moved(path=path, before=before, after=after)
                for path, before, after in sorted(both, key=lambda row: row[0])
                if before != after
            ]
        ),
        before=problem.errors_of(tables),
        after=problem.errors_of(written),
        steps=place.steps,
        slopes=slopes,
    )
