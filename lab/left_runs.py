"""Runs that were left out, side by side: how far off each was, and what of its like stayed known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from lab.leave_out import DIMENSIONS, LeftOut, source_groups
from rigright.cost.bands import figure_of
from rigright.cost.known import CHIP, CLASS, KIN, NOTHING, TRAVELLED, engine_level
from rigright.facts.chips import kin_of

_NAMES = ("source", "chip", "model", "class", "engine", "kind")
NAMELESS = "-"
_ATTRIBUTES = {"class": "chip_class"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftRuns:
    """One entry for each way a run was left out."""

    figures: tuple[str, ...]  # names of what bands are told of
    by: np.ndarray  # how: with its "source", its "chip", its "class" of chips, its "model"
    figure: np.ndarray  # place in `figures`
    off: np.ndarray  # log(measured/predicted)
    chip_level: np.ndarray  # what stayed known: CHIP, CLASS, KIN, NOTHING
    engine_level: np.ndarray  # TRAVELLED, ELSEWHERE, NEVER
    kind_known: np.ndarray
    model_known: np.ndarray
    source_known: np.ndarray
    left: np.ndarray  # name of the group it was left out with
    unit: np.ndarray  # number of its source
    source: np.ndarray
    chip: np.ndarray
    chip_class: np.ndarray
    model: np.ndarray

    def only(self, which: np.ndarray) -> LeftRuns:
        """Some of them."""
        columns = {name: getattr(self, name)[which] for name in _COLUMNS}
        return LeftRuns(figures=self.figures, **columns)

    def group(self, by: str) -> np.ndarray:
        """Each run's source, chip, class of chips or model."""
        return np.asarray(getattr(self, _ATTRIBUTES.get(by, by)))


_COLUMNS = tuple(field.name for field in fields(LeftRuns) if field.name != "figures")


def left_runs(left: Sequence[LeftOut], keys: Sequence[Mapping[str, str]]) -> LeftRuns:
    """Every answered run, once for each way of leaving out."""
    parts = [_part(left_out, keys) for left_out in left]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    figures, places = np.unique(columns.pop("figure").astype(str), return_inverse=True)
    _, units = np.unique(columns["source"].astype(str), return_inverse=True)
    return LeftRuns(figures=tuple(map(str, figures)), figure=places, unit=units, **columns)


def _part(left: LeftOut, keys: Sequence[Mapping[str, str]]) -> dict[str, np.ndarray]:
    column = {name: np.array([key.get(name) or NAMELESS for key in keys], dtype=object) for name in _NAMES}
    column["source"] = np.array(source_groups(keys), dtype=object)
    column["kin"] = np.array([kin_of(name) for name in column["class"]], dtype=object)
    of_chip, of_class, of_kin = (_stays(column[name], left.folds) for name in ("chip", "class", "kin"))
    result = {
        "by": np.full(len(keys), left.by, dtype=object),
        "figure": np.array(
            [figure_of(key.get("band") or key.get("metric", "")) for key in keys], dtype=object
        ),
        "off": -left.errors,
        "chip_level": np.select([of_chip, of_class, of_kin], [CHIP, CLASS, KIN], default=NOTHING),
        "engine_level": _engines(column, left.folds),
        "kind_known": _stays(column["kind"], left.folds),
        "model_known": _stays(column["model"], left.folds),
        "source_known": _stays(column["source"], left.folds),
        "left": np.array(left.groups, dtype=object),
        **{_ATTRIBUTES.get(name, name): column[name] for name in DIMENSIONS},
    }
    answered = np.isfinite(left.errors)
    return {name: values[answered] for name, values in result.items()}


def _stays(values: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Whether a row's like is still there among the rows of other folds."""
    homes: dict[str, set[int]] = {}
    for value, fold in zip(values, folds, strict=True):
        homes.setdefault(value, set()).add(int(fold))
    return np.array([bool(homes[value] - {int(fold)}) for value, fold in zip(values, folds, strict=True)])


def _engines(column: Mapping[str, np.ndarray], folds: np.ndarray) -> np.ndarray:
    """What stayed known of each row's engine among the rows of other folds; all where none is named."""
    values = np.full(len(folds), TRAVELLED)
    places = list(zip(column["engine"], column["chip"], column["kin"], strict=True))
    for fold in np.unique(folds):
        ran: dict[str, dict[str, str]] = {}
        for place in np.flatnonzero(folds != fold):
            engine, chip, kin = places[place]
            ran.setdefault(engine, {})[chip] = kin
        for place in np.flatnonzero((folds == fold) & (column["engine"] != NAMELESS)):
            engine, chip, kin = places[place]
            values[place] = engine_level(chip, kin, ran=ran.get(engine, {}))
    return values
