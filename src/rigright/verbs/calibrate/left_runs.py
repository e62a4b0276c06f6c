"""Runs that were left out, side by side: how far off each was, and what of its like stayed known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rigright.cost.known import CHIP, CLASS, NOTHING
from rigright.verbs.calibrate.leave_out import DIMENSIONS, LeftOut

_NAMES = ("source", "chip", "model", "class", "engine", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftRuns:
    """One entry for each way a run was left out."""

    by: np.ndarray  # how: with its "source", its "chip", its "model"
    figure: np.ndarray  # which band is told of it
    off: np.ndarray  # log(measured/predicted)
    chip_level: np.ndarray  # what stayed known: CHIP, CLASS, NOTHING
    engine_known: np.ndarray
    kind_known: np.ndarray
    source: np.ndarray
    chip: np.ndarray
    model: np.ndarray

    def only(self, which: np.ndarray) -> LeftRuns:
        """Some of them."""
        return LeftRuns(**{name: getattr(self, name)[which] for name in self.__slots__})

    def group(self, by: str) -> np.ndarray:
        """Each run's source, chip or model."""
        return np.asarray(getattr(self, by))


def left_runs(left: Sequence[LeftOut], keys: Sequence[Mapping[str, str]]) -> LeftRuns:
    """Every answered run, once for each way of leaving out."""
    parts = [_part(one, keys) for one in left]
    return LeftRuns(**{name: np.concatenate([part[name] for part in parts]) for name in LeftRuns.__slots__})


def _part(left: LeftOut, keys: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
    column = {name: np.array([key.get(name) or "-" for key in keys], dtype=object) for name in _NAMES}
    of_chip, of_class = (_stays(column[name], left.folds) for name in ("chip", "class"))
    found = {
        "by": np.full(len(keys), left.by, dtype=object),
        "figure": np.array([key.get("band") or key.get("metric", "") for key in keys], dtype=object),
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
