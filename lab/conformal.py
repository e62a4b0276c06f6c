"""Makes bands from runs that were left out: the variance of every level, and how far four of five runs lie.

The error of a run that no fit had seen is a sum: what differs from run to run, and, where nobody measured its
like, from source to source, chip to chip, engine to engine, model to model. The variance of each level comes
from squared errors by what was missing (non-negative least squares, each group alike, drawn to what was set
by hand where few groups tell). Then `low` and `high` are quantiles of errors over their deviation, the
sources alike. Of all shares of runs, and of how far sources may differ, the sharpest is taken that holds
groups no band has seen as promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from lab.leave_out import DIMENSIONS, SEEN
from lab.left_runs import LeftRuns
from rigright.cost.bands import BY_HAND, EDGE, LEVELS, deviation
from rigright.cost.known import CHIP, CLASS, ELSEWHERE, KIN, TRAVELLED, Known

PROMISED = 0.80
LEAST = 0.77  # of each way of leaving out
AIMS = tuple(share / 100 for share in range(72, 97))
STRETCHES = (0.3, 0.6, 1.0, 1.7)  # of the level of sources, which few groups tell
MANNERS = tuple((stretch, aim) for stretch in STRETCHES for aim in AIMS)
SLACK = tuple(1 + step / 20 for step in range(31))
LEAST_ROWS = 12  # fewer tell nothing of how wide a band must be
SHARE = 0.8  # of runs, that a band holds
TAME = 0.9  # share of groups alike: one odder than these counts as the oddest of them
WILD = 0.7  # logarithm: a group that needs a wider deviation is a case for the law, not for the band
MANY = 3  # sources, to say that they differ by less than a prior of so few
BELIEVED = 3.0  # groups that what was set by hand counts for
TESTED = {"within": 0.15}  # what runs of a figure that was tested differ by, set by hand as the other levels
SURE = 0.25  # share of groups that are the surest: no run is surer than
SURELY = 0.7  # so much of their deviation
LEAST_LEVEL = 0.3  # of the deviation of runs: what was never measured is never as sure
NARROWEST = 0.02  # logarithm: no run is surer than that
DIGITS = 3

Bands = dict[str, dict[str, float]]  # by figure: the levels' deviations, low and high


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The share of left-out runs inside bands made without them."""

    by: str
    name: str  # "": the average over all groups
    runs: int
    inside: float
    width: float = float("nan")  # high over low, the middle one


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeftOut:
    """A group against bands made without it; one entry a manner."""

    by: str
    name: str
    runs: int
    inside: np.ndarray  # share
    width: np.ndarray  # logarithm of high over low, the middle one


def make_bands(runs: LeftRuns) -> tuple[Bands, tuple[Coverage, ...]]:
    """The band of each figure, and what bands made without a group hold of it."""
    bands: Bands = {}
    pairs: list[tuple[_LeftOut, int]] = []
    for place, figure in enumerate(runs.figures):
        mine = runs.only(runs.figure == place)
        if len(mine.off) >= LEAST_ROWS * len(DIMENSIONS):
            groups = list(_left_out(mine))
            manner = _sharpest(groups, sources=len(set(mine.unit)))
            stretch, aim = MANNERS[manner]
            terms = _stretched(_terms(mine), stretch)
            bands[figure] = _rounded(_sure_of_the_seen(mine, terms | _edges(mine, terms, aims=(aim,))[0]))
            pairs += [(group, manner) for group in groups]
    if bands:
        bands["other"] = _loosest(bands)
    return bands, tuple(_covered(pairs))


def _sure_of_the_seen(runs: LeftRuns, terms: Mapping[str, float]) -> Mapping[str, float]:
    """The same, with as much from run to run that runs the fit saw are held as promised, sources alike."""
    seen = runs.only(runs.by == SEEN)
    for factor in SLACK:
        fields = {**terms, "within": terms["within"] * factor}
        if not len(seen.off) or float(balanced(seen.unit) @ inside(seen, fields)) >= PROMISED:
            break
    return fields


def inside(runs: LeftRuns, terms: Mapping[str, float]) -> np.ndarray:
    """Whether each run lies in its band."""
    width = deviation(terms, known=known_of_runs(runs))
    return np.asarray((runs.off >= terms["low"] * width) & (runs.off <= terms["high"] * width))


def known_of_runs(runs: LeftRuns) -> Known:
    """What stayed known of each run."""
    return Known(
        chip=runs.chip_level, engine=runs.engine_level, kind=runs.kind_known,
        model=runs.model_known, source=runs.source_known,
    )  # fmt: skip


def _left_out(runs: LeftRuns) -> Iterator[_LeftOut]:
    for by in DIMENSIONS:
        names = sorted(set(runs.group(by)[runs.by == by]))
        for name in names if len(names) > 1 else ():
            own = runs.group(by) == name
            others, mine = runs.only(~own), runs.only(own & (runs.by == by))
            if len(others.off) < LEAST_ROWS:
                continue
            terms, values, wide = _terms(others), [], []
            for stretch in STRETCHES:
                stretched = _stretched(terms, stretch)
                width = deviation(stretched, known=known_of_runs(mine))
                for edges in _edges(others, stretched, aims=AIMS):
                    low, high = edges["low"] * width, edges["high"] * width
                    values.append(((mine.off >= low) & (mine.off <= high)).mean())
                    wide.append(np.median(high - low))
            yield _LeftOut(
                by=by, name=name, runs=len(mine.off), inside=np.array(values), width=np.array(wide)
            )


def _sharpest(groups: list[_LeftOut], *, sources: int) -> int:
    """The manner whose bands are narrowest of those that hold unseen groups as often as is promised.

    Few sources are no ground to think that sources differ by less than they show.
    """
    brave = np.array([stretch >= 1 or sources >= MANY for stretch, _ in MANNERS])
    ways = [[group for group in groups if group.by == by] for by in DIMENSIONS]
    values, wide = (
        np.array([
            np.average([getattr(a, what) for a in mine], axis=0, weights=np.sqrt([a.runs for a in mine]))
            for mine in ways
            if mine
        ])
        for what in ("inside", "width")
    )  # fmt: skip
    if not len(values):
        return len(MANNERS) - 1
    enough = brave & (values.mean(axis=0) >= PROMISED) & (values.min(axis=0) >= LEAST)
    if not enough.any():
        return int(
            np.argmax(np.where(brave, np.minimum(values.min(axis=0), LEAST) + values.mean(axis=0), 0.0))
        )
    return int(np.argmin(np.where(enough, wide.mean(axis=0), np.inf)))


def _stretched(terms: Mapping[str, float], stretch: float) -> dict[str, float]:
    """The same where sources differ by more, or less."""
    return {**terms, "source": terms["source"] * stretch}


def _covered(pairs: list[tuple[_LeftOut, int]]) -> Iterator[Coverage]:
    """By way of leaving out: the average, a group counting by the root of its runs, and each group."""
    for by in DIMENSIONS:
        groups: dict[str, list[tuple[_LeftOut, int]]] = {}
        for item, aim in pairs:
            if item.by == by:
                groups.setdefault(item.name, []).append((item, aim))
        mine = []
        for name, parts in groups.items():
            counts = np.array([entry.runs for entry, _ in parts])
            share = float(np.average([entry.inside[aim] for entry, aim in parts], weights=counts))
            width = float(np.exp(np.average([entry.width[aim] for entry, aim in parts], weights=counts)))
            mine.append(Coverage(by=by, name=name, runs=int(counts.sum()), inside=share, width=width))
        if mine:
            weights = np.sqrt([coverage.runs for coverage in mine])
            mean, wide = (
                float(np.average([getattr(coverage, what) for coverage in mine], weights=weights))
                for what in ("inside", "width")
            )
            yield Coverage(
                by=by, name="", runs=sum(coverage.runs for coverage in mine), inside=mean, width=wide
            )
            yield from mine


def _terms(runs: LeftRuns) -> dict[str, float]:
    """The deviation of each level, from what bands of groups left out alike would have needed."""
    chip, engine = runs.chip_level, runs.engine_level
    missing = np.stack([
        np.ones(len(runs.off), dtype=bool), ~runs.source_known,
        chip < CHIP, chip < CLASS, chip < KIN, engine < TRAVELLED, engine < ELSEWHERE,
        ~runs.model_known, ~runs.kind_known,
    ], axis=1)  # fmt: skip
    # runs in sight are no group of their own: each source is, of which nothing is unknown
    left = np.where(runs.by == SEEN, runs.source, runs.left)
    names = np.char.add(runs.by.astype(str), left.astype(str))
    cells, place = np.unique(
        np.char.add(names, [row.tobytes().hex() for row in missing]), return_inverse=True
    )
    # of a cell, all of it missing the same: the deviation under which four of five lie inside
    needs = np.array(
        [np.quantile(np.abs(runs.off[place == number]), SHARE) / EDGE for number in range(len(cells))]
    )
    needs = np.minimum(needs, WILD)
    weights = np.sqrt(np.bincount(place))
    lacks = np.array([missing[np.argmax(place == number)] for number in range(len(cells))], dtype=float)
    for pattern in np.unique(lacks, axis=0):
        like = (lacks == pattern).all(axis=1)
        needs[like] = np.minimum(needs[like], quantile(needs[like], TAME, weights=weights[like]))
    squares = needs**2
    by_hand = np.array([(BY_HAND | TESTED)[name] for name in LEVELS]) ** 2
    # what was set by hand, at the size of this figure's errors
    prior = by_hand * float((weights * squares).sum() / (weights * (lacks @ by_hand)).sum())
    weights /= weights.mean()
    curve = lacks.T @ (lacks * weights[:, None]) + np.diag(np.full(len(LEVELS), BELIEVED))
    values = _not_below_zero(curve, lacks.T @ (weights * squares) + BELIEVED * prior)
    sure = SURELY * quantile(needs, SURE, weights=weights)
    values[0] = max(values[0], sure**2, NARROWEST**2)
    values[1:] = np.maximum(values[1:], LEAST_LEVEL**2 * values[0])
    # few sources show little of how sources differ, and part of that stands in every run of them
    more = few(len(set(runs.unit)))
    values[1] = min(more * values[1] + (more - 1) * values[0] / 2, WILD**2)
    return dict(zip(LEVELS, np.sqrt(values).tolist(), strict=True))


@cache
def few(sources: int) -> float:
    """How much more the variance between so few sources may be than they show: Student's t, squared."""
    freedom = max(sources - 1, 2)
    z = NormalDist().inv_cdf(0.9)
    # Cornish and Fisher's series of the quantile
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return (t / z) ** 2 * (1 + 1 / max(sources, 1))


def _not_below_zero(curve: np.ndarray, slope: np.ndarray, *, turns: int = 200) -> np.ndarray:
    """The least squares of a positive curve with no term below zero, one term after the other."""
    values = np.maximum(slope / np.diag(curve), 0.0)
    for _ in range(turns):
        for place in range(len(values)):
            rest = slope[place] - curve[place] @ values + curve[place, place] * values[place]
            values[place] = max(rest / curve[place, place], 0.0)
    return values


def _edges(runs: LeftRuns, terms: Mapping[str, float], *, aims: Sequence[float]) -> list[dict[str, float]]:
    """How many deviations below and above leave out as much on either side, every source alike."""
    scaled = runs.off / deviation(terms, known=known_of_runs(runs))
    order = np.argsort(scaled, kind="stable")
    scaled, heaped = scaled[order], np.cumsum(balanced(runs.unit)[order])

    def at(share: float) -> float:
        return float(scaled[min(np.searchsorted(heaped, share * heaped[-1]), len(scaled) - 1)])

    return [
        {"low": min(at((1 - aim) / 2), -EDGE / 4), "high": max(at((1 + aim) / 2), EDGE / 4)} for aim in aims
    ]


def _loosest(bands: Bands) -> dict[str, float]:
    """Of a figure without runs enough: no level surer than of those that have them."""
    worst = {name: max(band[name] for band in bands.values()) for name in (*LEVELS, "high")}
    return {**worst, "low": min(band["low"] for band in bands.values())}


def _rounded(terms: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in terms.items()}


def balanced(units: np.ndarray) -> np.ndarray:
    """Weights under which every unit counts alike; they sum to one."""
    _, place, counts = np.unique(units, return_inverse=True, return_counts=True)
    return np.asarray(1 / counts[place] / len(counts))


def quantile(values: np.ndarray, share: float, *, weights: np.ndarray) -> float:
    """The value below which lies a share of the weight."""
    order = np.argsort(values, kind="stable")
    heaped = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(heaped, share * heaped[-1]), len(values) - 1)])
