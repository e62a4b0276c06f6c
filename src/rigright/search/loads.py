"""What is asked of each layout: its load, its limits of time, and the highest load that keeps them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rigright.base.record import dataclass, replace
from rigright.choice.layout import is_staged
from rigright.choice.work import traffic_of as sent
from rigright.demand import Numbers, Traffic
from rigright.facts.anchors import ANY, anchors
from rigright.facts.hosts import CPU
from rigright.predict.bands import case_of
from rigright.predict.kept import RATES, TIMES, UNPROVEN, at_percentile, edges_of
from rigright.search.question import KindWay, Question
from rigright.search.space import LayoutPoints

EDGES = (*(f"{name}_edge" for name in (*TIMES, *RATES)), UNPROVEN)  # how many times worse each may be


def traffic_of(question: Question, load: Numbers, *, way: KindWay) -> Traffic:
    """What is sent to a way."""
    return sent(question.wish, load, arch=question.arch, drafts=way.drafts)


def bounds_of(question: Question) -> dict[str, float]:
    """The limits of time that a free load is as high as: those that were named, else what everybody wants."""
    named = {"ttft_s": question.wish.ttft_s, "tpot_s": question.wish.tpot_s}
    return question.comfort_s | {name: bound for name, bound in named.items() if bound is not None}


def edges_at(question: Question, way: KindWay, *, points: LayoutPoints) -> dict[str, Numbers]:
    """How many times worse each figure of a layout may be in one case of ten, as people are told."""
    kinds = [question.kinds[place] for place in way.kinds]
    alone = [kind.chip.vendor == CPU for kind in kinds]
    hosts = tuple(
        kind.host if way.offload is not None or cpu else None for kind, cpu in zip(kinds, alone, strict=True)
    )
    asked: Any = {"engine": way.engine, "kinds": tuple(kind.chips for kind in kinds), "hosts": hosts}
    apart = bool(len(points) and points.prefill_dp[0] > 0)
    loads, staged = np.nan_to_num(points.load), is_staged(way.engine.split, points.pp)
    if any(anchor.chip in {chip.id for kind in kinds for chip in kind.chips} for anchor in anchors()):
        pairs, place = np.unique(np.stack([loads, points.n_chips]), axis=1, return_inverse=True)
        cases = [
            case_of(traffic_of(question, load, way=way), way.weights, chips=float(cards))
            for load, cards in pairs.T
        ]
    else:
        place, cases = np.zeros(len(points), dtype=int), [ANY]
    values = {name: np.ones(len(points)) for name in EDGES}
    for number, case in enumerate(cases):
        for cut in (False, True):
            mine = (place.ravel() == number) & (staged == cut)
            edges = edges_of(question.arch, case=replace(case, apart=apart, staged=cut), **asked)
            for name in (*TIMES, *RATES):
                values[f"{name}_edge"][mine] = edges[name][points.row[mine]]
            values[UNPROVEN][mine] = edges[UNPROVEN][points.row[mine]]
    return values


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
