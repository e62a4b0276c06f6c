"""Damped least squares on the logarithms of terms: rows by a soft absolute error, terms by their priors.

What is made small: over rows, a soft absolute error of log(predicted/measured), each source and metric
counting alike; over terms, the squared distance from the wider class's term in units of its spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lab.problem import LOUDEST, Problem

TURN = 0.02  # by which a dial is turned to see what it does
ITERATIONS = 24
TRIES = 6  # dampings that one step may need
MUCH = 0.04  # a step that gains less of what is left asks for new slopes
ENOUGH = 3e-3  # and with new slopes, is the last

Progress = Callable[[int, float], None]  # iteration, what is left


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a descent stands."""

    steps: np.ndarray  # of the dials
    errors: np.ndarray  # of the rows
    left: float
    damping: float = 1e-3


def stand(problem: Problem, steps: np.ndarray, *, weights: np.ndarray, damping: float = 1e-3) -> Place:
    """The place with dials turned so; what bounds hold back is not kept."""
    kept = problem.hung.steps(problem.hung.values(steps))
    errors = problem.errors(kept)
    left = loss(problem, errors, steps=kept, weights=weights)
    return Place(steps=kept, errors=errors, left=left, damping=damping)


def descend(
    problem: Problem, steps: np.ndarray, *, weights: np.ndarray, progress: Progress | None = None
) -> tuple[Place, np.ndarray]:
    """Down until no step gains; the place, and the slopes of errors by dial there.

    Slopes cost a prediction a dial, a step costs one: old slopes are used as long as they gain much.
    """
    place = stand(problem, steps, weights=weights)
    slopes, fresh = slopes_at(problem, place), True
    for iteration in range(ITERATIONS):
        taken = down(problem, place, slopes=slopes, weights=weights)
        gained = 0.0 if taken is None else (place.left - taken.left) / max(place.left, 1e-12)
        if fresh and gained < ENOUGH:
            return taken or place, slopes
        place, fresh = taken or place, gained < MUCH
        if fresh:
            slopes = slopes_at(problem, place)
        if progress is not None:
            progress(iteration + 1, place.left)
    return place, slopes_at(problem, place)


def down(problem: Problem, place: Place, *, slopes: np.ndarray, weights: np.ndarray) -> Place | None:
    """One step that gains, with more damping until one does; None: there is none."""
    damping = place.damping
    for _ in range(TRIES):
        step = newton(problem, place, slopes=slopes, weights=weights, damping=damping)
        tried = stand(problem, place.steps + step, weights=weights, damping=max(damping / 5, 1e-6))
        if tried.left < place.left:
            return tried
        damping = max(damping, 1e-3) * 6
    return None


def newton(
    problem: Problem, place: Place, *, slopes: np.ndarray, weights: np.ndarray, damping: float
) -> np.ndarray:
    """The step a straight model of the errors asks for; loud rows count less, priors pull back."""
    seen = np.isfinite(place.errors)
    errors = np.where(seen, place.errors, 0.0)
    noise = problem.subject.noise
    rows = np.where(seen, weights, 0.0) / np.sqrt(1 + (errors / noise) ** 2) / noise**2
    pull = 1 / problem.hung.spreads**2
    curve = slopes.T @ (slopes * rows[:, None]) + np.diag(pull)
    slope = slopes.T @ (rows * errors) + pull * place.steps
    return -np.linalg.solve(curve + damping * np.diag(np.diag(curve)), slope)


def loss(problem: Problem, errors: np.ndarray, *, steps: np.ndarray, weights: np.ndarray) -> float:
    """What is left of rows and of dials."""
    scaled = np.where(np.isfinite(errors), errors, LOUDEST) / problem.subject.noise
    rows = weights * (np.sqrt(1 + scaled**2) - 1)
    return float(2 * rows.sum() + ((steps / problem.hung.spreads) ** 2).sum())


def slopes_at(problem: Problem, place: Place) -> np.ndarray:
    """How each row's error moves with each dial; dials that share no row are turned together."""
    slopes = np.zeros((len(place.errors), len(place.steps)))
    for together in _apart(problem):
        turned = place.steps.copy()
        turned[[number for number, _ in together]] += TURN
        moved = (problem.errors(turned) - place.errors) / TURN
        for number, rows in together:
            slopes[rows, number] = np.nan_to_num(moved[rows], nan=0.0, posinf=0.0, neginf=0.0)
    return slopes


Turned = tuple[int, np.ndarray]  # a dial's number, and the rows it moves


def _apart(problem: Problem) -> list[list[Turned]]:
    """Dials in groups whose rows do not overlap."""
    groups: list[list[Turned]] = []
    taken: list[np.ndarray] = []
    for number, dial in enumerate(problem.hung.dials):
        rows = np.zeros(len(problem.measured), dtype=bool)
        rows[slice(None) if dial.touches is None else list(dial.touches)] = True
        free = next((place for place, used in enumerate(taken) if not (used & rows).any()), len(groups))
        if free == len(groups):
            groups.append([])
            taken.append(np.zeros_like(rows))
        groups[free].append((number, rows))
        taken[free] |= rows
    return groups
