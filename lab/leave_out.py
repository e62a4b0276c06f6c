"""Refits without a whole source, chip or model, and predicts what was left out: errors nobody tuned away.

A fold holds whole groups. It starts from the full fit and its slopes, so that it costs a few predictions
and not a fit; a term that only left-out rows moved goes back to its class.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lab.descent import down, slopes_at, stand
from lab.solve import Solution
from lab.weights import row_weights
from rigright.cost.known import source_family

DIMENSIONS = ("source", "chip", "class", "model")
SEEN = "seen"  # a way of leaving out nothing
MOST_FOLDS = 10
A_SOURCE = 30  # runs by which what a page names in brackets is a source of its own
_HAND = re.compile(r" \([^()]*\)$")
STEPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Every row predicted by a fit that had not seen its group."""

    by: str  # one of DIMENSIONS
    groups: tuple[str, ...]  # of each row
    folds: np.ndarray  # of each row: groups of one fold were left out together
    errors: np.ndarray  # log(predicted/measured); nan: not answered


def leave_out(fitted: Solution, by: str, *, fresh: bool = False) -> LeftOut:
    """Leave out each group of a dimension; `fresh` takes new slopes in every fold, slower and exact."""
    problem = fitted.problem
    named = tuple(key.get(by) or "-" for key in problem.keys)
    groups = source_groups(problem.keys) if by == "source" else named
    folds = _folds(groups)
    errors = np.full(len(groups), np.nan)
    for fold in np.unique(folds):
        out = folds == fold
        values = _without(fitted, out, fresh=fresh)
        errors[out] = values[out]
    return LeftOut(by=by, groups=groups, folds=folds, errors=errors)


def in_sight(fitted: Solution) -> LeftOut:
    """Nothing left out: every run as the fit that saw it predicts it, so that nothing of it is unknown."""
    count = len(fitted.problem.keys)
    return LeftOut(by=SEEN, groups=(SEEN,) * count, folds=np.arange(count), errors=fitted.after)


def source_groups(keys: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Who measured: all pages of one place together, but for rounds and hands that its pages name."""
    pages = [key.get("source", "") for key in keys]
    named = [(source_family(page), "".join(_HAND.findall(page))) for page in pages]
    sizes = Counter(named)
    return tuple(
        f"{pair[0] or '-'}{pair[1]}" if sizes[pair] >= A_SOURCE else pair[0] or "-" for pair in named
    )


def _without(fitted: Solution, out: np.ndarray, *, fresh: bool) -> np.ndarray:
    """Errors of all rows after a fit on those that stay."""
    problem, slopes = fitted.problem, fitted.slopes
    weights = row_weights(problem.keys, ~out)
    # the steps of the full fit, but none for dials that no row moves any more
    moves = np.abs(fitted.slopes[~out]).max(axis=0, initial=0.0) > 0
    place = stand(problem, np.where(moves, fitted.steps, 0.0), weights=weights)
    for _ in range(STEPS):
        if fresh:
            slopes = slopes_at(problem, place)
        taken = down(problem, place, slopes=slopes, weights=weights)
        if taken is None:
            break
        place = taken
    return place.errors


def _folds(groups: tuple[str, ...]) -> np.ndarray:
    """Whole groups dealt out to a few folds, the largest first, each to the emptiest."""
    sizes = sorted(Counter(groups).items(), key=lambda pair: (-pair[1], pair[0]))
    numbers = [0] * min(MOST_FOLDS, len(sizes))
    fold: dict[str, int] = {}
    for name, size in sizes:
        fold[name] = min(range(len(numbers)), key=lambda number: (numbers[number], number))
        numbers[fold[name]] += size
    return np.array([fold[name] for name in groups], dtype=int)
