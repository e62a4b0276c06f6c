"""The highest load that keeps every limit of time: expected, and safe in nine cases of ten.

Between the rungs of the ladder it is found by chords and halves; times only grow with the load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Numbers
from rigright.predict.kept import at_percentile
from rigright.search.space import LayoutPoints

ROUNDS = 6
CLOSE = 0.05  # of what is open is tried at least from either end
Columns = dict[str, Any]
Evaluate = Callable[[Numbers, Numbers], Columns]  # places of layouts, their loads -> their columns
SAFE_LOAD, SAFE_OUTPUT = "safe_load", "safe_output_tok_per_s"
LEAST = {"ttft_s": "ttft_least_s", "tpot_s": "tpot_least_s"}  # of a layout, under the least load
OF_LAYOUTS = (SAFE_LOAD, SAFE_OUTPUT, *LEAST.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of time by figure, and the share of requests they hold for; None: on average."""

    most_s: Mapping[str, float]
    percentile: float | None

    def excess(self, columns: Columns, *, safe: Any) -> Numbers:
        """How far each is beyond them, as a logarithm; 0 or less keeps all. `safe`: in nine cases of ten."""
        values = []
        for name, bound in self.most_s.items():
            reached = at_percentile(columns, name, percentile=self.percentile)
            edge = np.where(safe, columns[f"{name}_edge"], 1.0)
            values.append(np.log(np.maximum(reached * edge, 1e-30) / bound))
        return np.nan_to_num(np.max(values, axis=0), nan=np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Highest:
    """What a ladder of loads and what lies between its rungs say; arrays with an entry a layout."""

    ladder: Columns  # of the points that were asked about, with what is safe of their layouts
    index: Numbers  # points whose layouts keep the limits under a load between two rungs
    load: Numbers
    between: Columns


def highest(columns: Columns, points: LayoutPoints, *, bounds: Bounds, evaluate: Evaluate) -> Highest:
    """Look between the rungs where the limits begin to break."""
    starts = _starts(points)
    size, unit = len(starts), np.where(points.prefill_dp > 0, 1, points.dp)[starts].astype(float)
    ends = [
        _bracket(bounds.excess(columns, safe=safe), starts=starts, loads=points.load)
        for safe in (False, True)
    ]
    low, high, under, over, place = (np.concatenate(end) for end in zip(*ends, strict=True))
    best = {name: column[place] for name, column in columns.items()}
    layout, safe = np.tile(starts, 2), np.arange(2 * size) >= size
    unit, moved = np.tile(unit, 2), np.zeros(2 * size, dtype=bool)
    for turn in range(ROUNDS):
        mine = np.flatnonzero((high - low) / unit > 1)
        if not len(mine):
            break
        part = _part(under[mine], over[mine], chord=turn % 2 == 0)
        width = (high - low)[mine] / unit[mine]
        step = np.clip(np.floor(part * width), 1, np.ceil(width) - 1)
        tried = low[mine] + step * unit[mine]
        fields = evaluate(layout[mine], tried)
        beyond = bounds.excess(fields, safe=safe[mine])
        keeps = beyond <= 0
        good, bad = mine[keeps], mine[~keeps]
        for name, column in fields.items():
            best[name][good] = column[keeps]
        moved[good] = True
        low[good], under[good] = tried[keeps], beyond[keeps]
        high[bad], over[bad] = tried[~keeps], beyond[~keeps]
    none = low[size:] <= 0
    given = {
        SAFE_LOAD: np.where(none, np.nan, low[size:]),
        SAFE_OUTPUT: np.where(none, np.nan, best["output_tok_per_s"][size:]),
        **{
            column: at_percentile(columns, name, percentile=bounds.percentile)[starts]
            for name, column in LEAST.items()
        },
    }
    of = np.repeat(np.arange(size), np.diff([*starts, len(points)]))
    more = np.flatnonzero(moved[:size])
    return Highest(
        ladder={**columns, **{name: column[of] for name, column in given.items()}},
        index=starts[more],
        load=low[more],
        between={name: column[more] for name, column in {**best, **given}.items()},
    )


def with_none(columns: Columns) -> Columns:
    """The columns where the load is stated, or nothing limits it: none is looked for."""
    nothing = np.full(len(columns["ttft_s"]), np.nan)
    return {**columns, **dict.fromkeys(OF_LAYOUTS, nothing)}


def _starts(points: LayoutPoints) -> Numbers:
    """Where each layout begins, whose loads follow one another from the least."""
    cut = np.stack(
        [points.row, points.tp, points.pp, points.ep, points.dp, points.prefill_tp, points.prefill_dp]
    )
    new = np.ones(len(points), dtype=bool)
    new[1:] = (cut[:, 1:] != cut[:, :-1]).any(axis=0) | (points.load[1:] <= points.load[:-1])
    return np.flatnonzero(new)


def _bracket(beyond: Numbers, *, starts: Numbers, loads: Numbers) -> tuple[Numbers, ...]:
    """Of each layout the highest load that keeps, 0 if none, and the next; how far each is; and its place."""
    count = len(beyond)
    ends = np.append(starts[1:], count)
    bad = np.minimum(np.minimum.reduceat(np.where(beyond > 0, np.arange(count), count), starts), ends)
    keeps, breaks = bad > starts, bad < ends
    place, next_ = np.maximum(bad - 1, starts), np.minimum(bad, count - 1)
    low = np.where(keeps, loads[place], 0.0)
    return (
        low,
        np.where(breaks, loads[next_], low),
        np.where(keeps, beyond[place], -np.inf),
        np.where(breaks, beyond[next_], np.inf),
        place,
    )


def _part(under: Numbers, over: Numbers, *, chord: bool) -> Numbers:
    """Where in what is open to look next: where a chord crosses the limit, or halfway."""
    known = np.isfinite(under) & np.isfinite(over) & chord
    crossing = -np.where(known, under, -1.0) / np.where(known, over - under, 2.0)
    return np.clip(crossing, CLOSE, 1 - CLOSE)
