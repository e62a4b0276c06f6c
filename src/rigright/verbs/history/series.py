"""Columns of the history over one time, and what is told of each.

Plain lists: of an hour they are done before numpy is loaded, and of a day as fast.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import mul
from typing import cast

from rigright.machine.history.columns import AT, PEAK
from rigright.machine.history.store import Columns
from rigright.verbs.watch.watched import Figures

Numbers = Sequence[float | None]
BINS = 120  # stretches of a picture
_GAP = 3.0  # usual steps, beyond which nobody looked
_LEAST_GAP_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All columns over one time, and for how long each row stands."""

    at_s: Sequence[float]
    stands_s: Sequence[float]
    numbers: Mapping[str, Numbers]  # None where nothing was read
    words: Mapping[str, Sequence[str | None]]
    bins: list[tuple[int, slice]] = field(init=False)  # stretches of the picture, each with its rows

    def __post_init__(self) -> None:
        # equal stretches of the whole time; rows that lie in one, as far as they follow each other
        low, high = min(self.at_s, default=0.0), max(self.at_s, default=0.0)
        count = min(BINS, len(self.at_s))
        per_s = count / max(high - low, 1e-9)
        pairs, start = [], 0
        for place, rows in groupby(min(int((at - low) * per_s), count - 1) for at in self.at_s):
            stop = start + sum(1 for _ in rows)
            pairs.append((place, slice(start, stop)))
            start = stop
        object.__setattr__(self, "bins", pairs)

    @property
    def seen_s(self) -> float:
        """Time for which there are rows."""
        return sum(self.stands_s)


def series(stretches: Iterable[Columns]) -> Series:
    """Stretches one after another, in the order of their time."""
    parts = sorted(stretches, key=lambda row: float(row[AT][0] or 0))
    times = [[float(at or 0) for at in part[AT]] for part in parts]
    columns = {name: _joined(name, parts) for name in dict.fromkeys(name for part in parts for name in part)}
    worded = {name for name, column in columns.items() if str in set(map(type, column))}
    return Series(
        at_s=[at for part in times for at in part],
        stands_s=[stands for part in times for stands in _stands(part)],
        numbers={
            name: cast("Numbers", column)
            for name, column in columns.items()
            if name not in worded and name != AT
        },
        words={
            name: [value if isinstance(value, str) else None for value in columns[name]] for name in worded
        },
    )


def _joined(name: str, parts: Iterable[Columns]) -> list[float | str | None]:
    """One column through all stretches."""
    return [value for part in parts for value in part.get(name) or [None] * len(part[AT])]


def _stands(at_s: Sequence[float]) -> list[float]:
    """How long each row stands for: until the next, unless nobody looked for long, or the clock was set."""
    if len(at_s) < 2:
        return [1.0] * len(at_s)
    steps = [after - before for before, after in pairwise(at_s)]
    ordered = sorted(map(abs, steps))
    usual = ((ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2) or 1.0
    most = max(_GAP * usual, _LEAST_GAP_S)
    return [*(step if 0 < step <= most else usual for step in steps), usual]


def figures(series: Series, column: str) -> Figures | None:
    """Mean, percentile, extremes and picture of one column; None where nothing was read."""
    values = series.numbers.get(column, ())
    # how long each value stood; kept values have steps, so that these are few
    times: dict[float, float] = defaultdict(float)
    for value, stood_s in zip(values, series.stands_s, strict=False):
        if value is not None:
            times[value] += stood_s
    if not times:
        return None
    peaks = [item for item in series.numbers.get(column + PEAK, ()) if item is not None]
    # means of equal stretches of the whole time; None where nobody looked
    seen: dict[int, list[float]] = {}
    for place, rows in series.bins:  # a clock that was set comes to one of them twice
        seen.setdefault(place, []).extend(value for value in values[rows] if value is not None)
    means = (seen.get(place) for place in range(max(seen) + 1))
    return Figures(
        column=column,
        mean=sum(map(mul, times.keys(), times.values())) / sum(times.values()),
        p95=_p95(times),
        most=max(*times, *peaks) if peaks else max(times),
        least=min(times),
        last=next(value for value in reversed(values) if value is not None),
        values=tuple(sum(mean) / len(mean) if mean else None for mean in means),
    )


def _p95(times: Mapping[float, float]) -> float:
    """The value that was not exceeded for 95 % of the time."""
    bound, passed = 0.95 * sum(times.values()), 0.0
    for value in sorted(times):
        passed += times[value]
        if passed >= bound:
            break
    return value


def energy_j(series: Series, card: str) -> float | None:
    """What a card drew: by its own counter, or its power over the time."""
    counter = [value for value in series.numbers.get(f"{card}.energy_j", ()) if value is not None]
    if len(counter) > 1:  # one that began anew loses one step
        return sum(max(after - before, 0.0) for before, after in pairwise(counter))
    power = series.numbers.get(f"{card}.power_w", ())
    drawn = [
        watts * stood_s for watts, stood_s in zip(power, series.stands_s, strict=False) if watts is not None
    ]
    return sum(drawn) if drawn else None
