"""Columns of the history as arrays over one time, and what is told of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigright.machine.history.columns import AT, PEAK
from rigright.machine.history.store import Columns
from rigright.report.watched import Figures

Numbers = NDArray[np.float64]
BINS = 120  # stretches of a picture
_GAP = 3.0  # usual steps, beyond which nobody looked
_LEAST_GAP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All columns over one time, and for how long each row stands."""

    at_s: Numbers
    stands_s: Numbers
    numbers: Mapping[str, Numbers]  # nan where nothing was read
    words: Mapping[str, tuple[str | None, ...]]

    @property
    def seen_s(self) -> float:
        """Time for which there are rows."""
        return float(self.stands_s.sum())


def series(stretches: Iterable[Columns]) -> Series:
    """Stretches one after another, in the order of their time."""
    parts = sorted(stretches, key=lambda one: float(one[AT][0] or 0))
    sizes = [len(part[AT]) for part in parts]
    names = dict.fromkeys(name for part in parts for name in part)
    worded = {
        name for part in parts for name, column in part.items() if any(isinstance(v, str) for v in column)
    }
    at_s = np.array([at for part in parts for at in part[AT]], dtype=float)
    stands = [_stands(np.array(part[AT], dtype=float)) for part in parts]
    numbers = {
        name: np.concatenate(
            [
                np.array(part.get(name, [None] * size), dtype=float)
                for part, size in zip(parts, sizes, strict=True)
            ]
        )
        for name in names
        if name not in worded and name != AT
    }
    words = {
        name: tuple(
            value if isinstance(value, str) else None
            for part, size in zip(parts, sizes, strict=True)
            for value in part.get(name, [None] * size)
        )
        for name in worded
    }
    joined = np.concatenate(stands) if stands else np.zeros(0)
    return Series(at_s=at_s, stands_s=joined, numbers=numbers, words=words)


def _stands(at_s: Numbers) -> Numbers:
    """How long each row stands for: until the next, unless nobody looked for long, or the clock was set."""
    if len(at_s) < 2:
        return np.ones(len(at_s))
    steps = np.diff(at_s)
    usual = float(np.median(np.abs(steps))) or 1.0
    most = max(_GAP * usual, _LEAST_GAP_S)
    good = np.where((steps > 0) & (steps <= most), steps, usual)
    return np.append(good, usual)


def figures(found: Series, column: str) -> Figures | None:
    """Mean, percentile, extremes and picture of one column; None where nothing was read."""
    values = found.numbers.get(column)
    there = None if values is None else np.isfinite(values)
    if values is None or there is None or not there.any():
        return None
    kept, weights = values[there], found.stands_s[there]
    order = np.argsort(kept)
    share = np.cumsum(weights[order]) / weights.sum()
    peaks = found.numbers.get(column + PEAK, values)
    return Figures(
        column=column,
        mean=float(np.average(kept, weights=weights)),
        p95=float(kept[order][np.searchsorted(share, 0.95)]),
        most=float(np.nanmax(np.where(np.isfinite(peaks), peaks, values))),
        least=float(kept.min()),
        last=float(kept[-1]),
        values=_picture(found.at_s, values),
    )


def _picture(at_s: Numbers, values: Numbers) -> tuple[float | None, ...]:
    """Means of equal stretches of the whole time; None where nobody looked."""
    low, high = float(at_s.min()), float(at_s.max())
    bins = min(BINS, max(len(at_s), 1))
    places = np.minimum(((at_s - low) / max(high - low, 1e-9) * bins).astype(int), bins - 1)
    there = np.isfinite(values)
    counts = np.bincount(places[there], minlength=bins)
    sums = np.bincount(places[there], weights=values[there], minlength=bins)
    return tuple(float(total / count) if count else None for total, count in zip(sums, counts, strict=True))


def energy_j(found: Series, card: str) -> float | None:
    """What a card drew: by its own counter, or its power over the time."""
    counter = found.numbers.get(f"{card}.energy_j")
    if counter is not None and np.isfinite(counter).sum() > 1:
        kept = counter[np.isfinite(counter)]
        steps = np.diff(kept)
        return float(steps[steps > 0].sum())  # a counter that began anew loses one step
    power = found.numbers.get(f"{card}.power_w")
    if power is None or not np.isfinite(power).any():
        return None
    return float(np.nansum(power * found.stands_s))
