"""Makes bands from runs that were left out: quantiles in which every source counts alike.

First the band of each figure where the chip, the engine and the kind of model stayed known; then how much
wider it must be where they did not. The aim is set so that groups no band has seen are held often enough:
a new source is unlike all that were seen before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.leave_out import DIMENSIONS
from lab.left_runs import LeftRuns
from rigright.cost.bands import CHIPS, ENGINES, UNTESTED, WIDER, edges_in, widening
from rigright.cost.known import CHIP, CLASS, ELSEWHERE, KIN, NEVER, NOTHING, TRAVELLED, Known

PROMISED = 0.80
LEAST = 0.77  # of each way of leaving out
AIMS = tuple(share / 100 for share in range(74, 95))
WIDEST = 3.0  # a band is not widened more than that for one thing unknown
LEAST_WIDER = 1.05  # and no less: what was never measured is never as sure
LEAST_ROWS = 12  # fewer tell nothing of how wide a band must be
LEAST_SOURCES = 2
NARROWEST = 0.02  # logarithm: no figure is surer than that
MANY = 3  # runs of a source on a chip that tell what they share
UNTOLD = 0.5  # the shared part where no runs tell it
DIGITS, HALF = 3, 0.0005  # as bands are written

CHIP_LEVELS, ENGINE_LEVELS = (CLASS, KIN, NOTHING), (ELSEWHERE, NEVER)  # as they are asked for, one by one

Bands = dict[str, Any]  # as a table is written: "wider" and "bands"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The share of left-out runs inside bands made without them."""

    by: str
    name: str  # "": the average over all groups
    runs: int
    inside: float


def tuned_aim(runs: LeftRuns) -> float:
    """The least aim at which groups that no band has seen are held as often as is promised."""
    low, high = 0, len(AIMS) - 1
    while low < high:
        middle = (low + high) // 2
        enough = holds_enough(coverage(runs, aim=AIMS[middle]))
        low, high = (low, middle) if enough else (middle + 1, high)
    return AIMS[low]


def holds_enough(found: tuple[Coverage, ...]) -> bool:
    """Whether bands hold what is promised on average, and nearly so in every way of leaving out."""
    ways = [one.inside for one in found if not one.name]
    return not ways or (average(found) >= PROMISED and min(ways) >= LEAST)


def average(found: tuple[Coverage, ...]) -> float:
    """Over sources, chips and models alike."""
    return float(np.mean([one.inside for one in found if not one.name])) if found else 0.0


def make_bands(runs: LeftRuns, *, aim: float) -> Bands:
    """The band of each figure, and what widens it.

    Figures that stayed known in several sources teach both; of others, the band is what widening leaves.
    """
    # whether all of a run's like stayed known
    sure = np.asarray((runs.chip_level == CHIP) & (runs.engine_level == TRAVELLED) & runs.kind_known)
    told = np.bincount(runs.figure[sure], minlength=len(runs.figures)) >= LEAST_ROWS
    surely = told[runs.figure]
    first = _bands(runs.only(sure & surely), aim=aim)
    wider = _wider(runs.only(surely), first, aim=aim)
    several = np.array([_tells(runs, sure & (runs.figure == one)) for one in range(len(runs.figures))])
    many = np.bincount(runs.figure, minlength=len(told)) >= LEAST_ROWS * len(DIMENSIONS)
    lone = runs.only((~several & many)[runs.figure])
    bands = {name: first[name] for name, one in zip(runs.figures, several, strict=True) if one}
    bands |= _no_surer(_bands(lone, aim=aim, wider=wider), than=bands)
    bands["other"] = {
        "low": min((one["low"] for one in bands.values()), default=UNTESTED["low"]),
        "high": max((one["high"] for one in bands.values()), default=UNTESTED["high"]),
    }
    return {"wider": wider, "bands": bands}


def coverage(runs: LeftRuns, *, aim: float) -> tuple[Coverage, ...]:
    """Hold bands against what was left out; each group's are made without its runs.

    A group counts by the root of its runs: none outvotes the others, and three runs are no verdict.
    """
    found: list[Coverage] = []
    for by in DIMENSIONS:
        names = sorted(set(runs.group(by)[runs.by == by]))
        mine = [_covered(runs, by, name=name, aim=aim) for name in names] if len(names) > 1 else []
        if mine:
            weights = np.sqrt([one.runs for one in mine])
            mean = float(np.average([one.inside for one in mine], weights=weights))
            found += [Coverage(by=by, name="", runs=sum(one.runs for one in mine), inside=mean), *mine]
    return tuple(found)


def inside(runs: LeftRuns, made: Bands) -> np.ndarray:
    """Whether each run lies in its band."""
    return np.asarray(_needed(runs, made["bands"]) <= widening(made["wider"], known=_known(runs)) + 1e-9)


def _known(runs: LeftRuns) -> Known:
    return Known(chip=runs.chip_level, engine=runs.engine_level, kind=runs.kind_known)


def _covered(runs: LeftRuns, by: str, *, name: str, aim: float) -> Coverage:
    own = runs.group(by) == name
    made = make_bands(runs.only(~own), aim=aim)
    held = inside(runs.only(own & (runs.by == by)), made)
    return Coverage(by=by, name=name, runs=len(held), inside=float(held.mean()))


def _tells(runs: LeftRuns, which: np.ndarray) -> bool:
    """Whether these are so many runs, of more than one source, that they say how far off others are."""
    units = runs.unit[which]
    return len(units) >= LEAST_ROWS and len(set(units)) >= LEAST_SOURCES


def _bands(runs: LeftRuns, *, aim: float, wider: Mapping[str, float] | None = None) -> Bands:
    """The bands of figures that have runs enough; with `wider`, of what is left of them after widening."""
    off = runs.off if wider is None else runs.off / widening(wider, known=_known(runs))
    found = {}
    for place, name in enumerate(runs.figures):
        mine = runs.figure == place
        if mine.sum() >= LEAST_ROWS:
            found[name] = _band(off[mine], runs.unit[mine], aim=aim)
    return found


def _no_surer(bands: Bands, *, than: Bands) -> Bands:
    """Bands of figures that never stayed known, on neither side surer than the surest that did."""
    low = max((one["low"] for one in than.values()), default=1.0)
    high = min((one["high"] for one in than.values()), default=1.0)
    return {
        name: {"low": min(one["low"], low), "high": max(one["high"], high)} for name, one in bands.items()
    }


def _band(off: np.ndarray, units: np.ndarray, *, aim: float) -> dict[str, float]:
    """Low and high that leave out as much on either side, every unit alike."""
    weights = balanced(units)
    # the share of a tail that so few runs can speak for: conformal bands count the run to come too
    runs = 1 / float((weights**2).sum())
    tail = (1 - aim) / 2 * (runs / (runs + 1))
    low = min(quantile(off, tail, weights=weights), -NARROWEST)
    high = max(quantile(off, 1 - tail, weights=weights), NARROWEST)
    return {"low": float(np.exp(low)), "high": float(np.exp(high))}


def shared_part(runs: LeftRuns) -> float:
    """Of squared errors, what runs of one source on one chip share: one of them tells of the others.

    Midway between runs of the same model and of any: own runs are asked about both.
    """
    place = np.char.add(runs.source.astype(str), runs.chip.astype(str))
    parts = (_shared(runs, place), _shared(runs, np.char.add(place, runs.model.astype(str))))
    return float(np.mean(parts))


def _shared(runs: LeftRuns, groups: np.ndarray) -> float:
    _, place, counts = np.unique(groups, return_inverse=True, return_counts=True)
    off = np.clip(runs.off, -1, 1)
    many = counts[place] >= MANY
    if not many.any():
        return UNTOLD
    means = np.bincount(place, weights=off) / counts
    spare = counts[place] / np.maximum(counts[place] - 1, 1)
    weights = balanced(runs.unit[many])
    within = float(np.sum(weights * ((off - means[place]) ** 2 * spare)[many]))
    whole = float(np.sum(weights * (off**2)[many]))
    return float(np.clip(1 - within / max(whole, 1e-9), 0.1, 0.9))


def _wider(runs: LeftRuns, bands: Mapping[str, Any], *, aim: float) -> dict[str, float]:
    """How much wider bands must be where something did not stay known, by hand where no run tells.

    Each step is asked of runs where that alone was missing, or with it what was asked before: an engine
    that ran on one chip goes with it, and says nothing of chips.
    """
    sure = runs.kind_known & (runs.engine_level == TRAVELLED)
    steps = (
        *((name, sure & (runs.chip_level == level)) for name, level in zip(CHIPS, CHIP_LEVELS, strict=True)),
        *((name, runs.engine_level == level) for name, level in zip(ENGINES, ENGINE_LEVELS, strict=True)),
        ("kind", ~runs.kind_known.astype(bool)),
    )
    needs, found = _needed(runs, bands), dict.fromkeys(WIDER, 1.0)
    for name, which in steps:
        ladder = next((names for names in (CHIPS, ENGINES) if name in names), (name,))
        others = widening(found | dict.fromkeys(ladder, 1.0), known=_known(runs))
        factor = _factor(runs, needs / others, which=which, aim=aim)
        found[name] = max(WIDER[name] if factor is None else factor, *(found[one] for one in ladder))
    return found


def _needed(runs: LeftRuns, bands: Mapping[str, Any]) -> np.ndarray:
    """How many times its figure's band each run would need to lie just inside."""
    edges = [edges_in(bands, figure) for figure in runs.figures]
    low, high = (np.log([edge[side] for edge in edges])[runs.figure] for side in ("low", "high"))
    return np.asarray(np.where(runs.off < 0, runs.off / low, runs.off / high))


def _factor(runs: LeftRuns, needs: np.ndarray, *, which: np.ndarray, aim: float) -> float | None:
    """How much wider so many of these runs need their bands; None: too few, or one source alone, tell."""
    if not _tells(runs, which):
        return None
    weights = balanced(runs.unit[which])
    return float(np.clip(quantile(needs[which], aim, weights=weights), LEAST_WIDER, WIDEST))


def balanced(units: np.ndarray) -> np.ndarray:
    """Weights under which every unit counts alike; they sum to one."""
    _, place, counts = np.unique(units, return_inverse=True, return_counts=True)
    return np.asarray(1 / counts[place] / len(counts))


def quantile(values: np.ndarray, share: float, *, weights: np.ndarray) -> float:
    """The value below which lies a share of the weight."""
    order = np.argsort(values, kind="stable")
    heaped = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(heaped, share * heaped[-1]), len(values) - 1)])


def shared_parts(runs: LeftRuns) -> dict[str, float]:
    """The shared part of each figure's errors."""
    own = runs.only(runs.by == "source")
    parts = {name: shared_part(own.only(own.figure == place)) for place, name in enumerate(own.figures)}
    return {name: round(part, 2) for name, part in parts.items()}


def rounded_bands(made: Bands) -> Bands:
    """As they are written; low down and high up, so that rounding narrows nothing."""
    return {
        "wider": {name: float(np.ceil(factor * 100) / 100) for name, factor in made["wider"].items()},
        "bands": {
            figure: {
                "low": round(edges["low"] - HALF, DIGITS),
                "high": round(edges["high"] + HALF, DIGITS),
            }
            for figure, edges in made["bands"].items()
        },
    }
