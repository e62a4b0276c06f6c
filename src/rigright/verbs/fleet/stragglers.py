"""Slow nodes: each figure over the nodes of a kind, and who stands apart from the middle.

A node is as slow as the slowest of its cards: work that spans them waits for it. A node is a straggler
when it is more than 5 % behind the median and, with five nodes or more, also further than chance would
put it: a robust z-score (0.6745 times the distance from the median, over the median distance) above 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median

from rigright.machine.bench.record import Result
from rigright.verbs.fleet.nodes import NodeReport, NodeSpread, Straggler

BEHIND_SHARE = 0.05
ROBUST_Z = 3.5  # Iglewicz and Hoaglin's limit for a modified z-score
NORMAL = 0.6745
ENOUGH = 5  # nodes, before a spread says what chance does
LESS_IS_BETTER = frozenset({"s", "bytes"})

Figure = tuple[str, str, str]  # part, what, unit


def spread_of(
    nodes: Iterable[NodeReport], kind: Mapping[str, str]
) -> tuple[tuple[NodeSpread, ...], tuple[Straggler, ...]]:
    """Every figure that two nodes of a kind or more have, and the stragglers, the worst first."""
    figures: dict[tuple[str, Figure], dict[str, Result]] = {}
    for node in nodes:
        for figure, result in _worst(node.results).items():
            figures.setdefault((kind.get(node.node, ""), figure), {})[node.node] = result
    spreads: list[NodeSpread] = []
    stragglers: list[Straggler] = []
    for (name, figure), results in figures.items():
        if len(results) > 1:
            values = [item.value for item in results.values()]
            part, what, unit = figure
            spread = NodeSpread(
                part=part,
                what=what,
                kind=name,
                unit=unit,
                median=median(values),
                low=min(values),
                high=max(values),
                n_nodes=len(values),
            )
            spreads.append(spread)
            stragglers += _behind(spread, results)
    stragglers.sort(key=lambda straggler: -straggler.behind_share)
    return tuple(spreads), tuple(stragglers)


def _worst(results: Iterable[Result]) -> dict[Figure, Result]:
    """For each figure the slowest card, link or disk of a node."""
    result: dict[Figure, Result] = {}
    for item in results:
        figure = (item.part, item.what, item.unit)
        known = result.get(figure)
        if known is None or _lag(item.value, known.value, unit=item.unit) > 0:
            result[figure] = item
    return result


def _lag(value: float, middle: float, *, unit: str) -> float:
    """How far a value lies behind another, as a share of it; below zero: ahead."""
    if not middle:
        return 0.0
    return (value - middle if unit in LESS_IS_BETTER else middle - value) / abs(middle)


def _behind(spread: NodeSpread, results: Mapping[str, Result]) -> Iterator[Straggler]:
    distances = [abs(item.value - spread.median) for item in results.values()]
    usual = median(distances)
    for node, result in results.items():
        share = _lag(result.value, spread.median, unit=spread.unit)
        by_chance = (
            len(results) >= ENOUGH
            and usual
            and NORMAL * abs(result.value - spread.median) / usual <= ROBUST_Z
        )
        if share > BEHIND_SHARE and not by_chance:
            yield Straggler(node=node, on=result.on, spread=spread, value=result.value, behind_share=share)
