"""Runs that were left out, side by side: how far off each was, and what of its like stayed known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from rigright.cost.bands import figure_of
from rigright.cost.known import CHIP, CLASS, NOTHING
from rigright.verbs.calibrate.leave_out import DIMENSIONS, LeftOut

_NAMES = ("source", "chip", "model", "class", "engine", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftRuns:
    """One entry for each way a run was left out."""

    figures: tuple[str, ...]  # names of what bands are told of
    by: np.ndarray  # how: with its "source", its "chip", its "model"
    figure: np.ndarray  # place in `figures`
    off: np.ndarray  # log(measured/predicted)
    chip_level: np.ndarray  # what stayed known: CHIP, CLASS, NOTHING
    engine_known: np.ndarray
    kind_known: np.ndarray
    unit: np.ndarray  # number of its source
    source: np.ndarray
    chip: np.ndarray
    model: np.ndarray

    def only(self, which: np.ndarray) -> LeftRuns:
        """Some of them."""
        columns = {name: getattr(self, name)[which] for name in _COLUMNS}
        return LeftRuns(figures=self.figures, **columns)

    def group(self, by: str) -> np.ndarray:
        """Each run's source, chip or model."""
        return np.asarray(getattr(self, by))


_COLUMNS = tuple(one.name for one in fields(LeftRuns) if one.name != "figures")


def left_runs(left: Sequence[LeftOut], keys: Sequence[Mapping[str, str]]) -> LeftRuns:
    """Every answered run, once for each way of leaving out."""
    parts = [_part(one, keys) for one in left]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    figures, places = np.unique(columns.pop("figure").astype(str), return_inverse=True)
    _, units = np.unique(columns["source"].astype(str), return_inverse=True)
    return LeftRuns(figures=tuple(map(str, figures)), figure=places, unit=units, **columns)


def _part(left: LeftOut, keys: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
    column = {name: np.array([key.get(name) or "-" for key in keys], dtype=object) for name in _NAMES}
    of_chip, of_class = (_stays(column[name], left.folds) for name in ("chip", "class"))
    found = {
        "by": np.full(len(keys), left.by, dtype=object),
        "figure": np.array(
            [figure_of(key.get("band") or key.get("metric", "")) for key in keys], dtype=object
        ),
        "off": -left.errors,
        "chip_level": np.where(of_chip, CHIP, np.where(of_class, CLASS, NOTHING)),
        "engine_known": _stays(column["engine"], left.folds),
        "kind_known": _stays(column["kind"], left.folds),
        **{name: column[name] for name in DIMENSIONS},
    }
    answered = np.isfinite(left.errors)
    return {name: values[answered] for name, values in found.items()}


def _stays(values: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Whether a row's like is still there among the rows of other folds."""
    homes: dict[str, set[int]] = {}
    for value, fold in zip(values, folds, strict=True):
        homes.setdefault(value, set()).add(int(fold))
    return np.array([bool(homes[value] - {int(fold)}) for value, fold in zip(values, folds, strict=True)])
