"""Nodes of one kind held against each other: the odd ones out by traits, the slow ones by figures.

A node is as slow as the slowest of its cards: work that spans them waits for it. A node is a straggler
when it is more than 5 % behind the median and, with five nodes or more, also further than chance would
put it: a robust z-score (0.6745 times the distance from the median, over the median distance) above 3.5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from rigright.machine.bench.record import SMALLER_IS_BETTER, Result
from rigright.machine.record import Machine
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.nodes import Differs, NodeReport, NodeSpread, OddNodes, Straggler

_FEW_SHARE = (
    0.25  # so few nodes without any card among nodes with cards are odd ones, not a kind of their own
)
_BARE = ""
BEHIND_SHARE = 0.05
ROBUST_Z = 3.5  # Iglewicz and Hoaglin's limit for a modified z-score
NORMAL = 0.6745
ENOUGH = 5  # nodes, before a spread says what chance does

_Figure = tuple[str, str, str]  # part, what, unit


def machines_of(nodes: Mapping[str, NodeReport]) -> dict[str, Machine]:
    """The machines of nodes that answered."""
    return {name: node.machine for name, node in nodes.items() if node.machine is not None}


def kinds(machines: Mapping[str, Machine]) -> dict[str, str]:
    """Node -> its kind: the names of its cards. Few nodes without cards are held against the largest kind."""
    fields = {node: _kind_of(machine) for node, machine in machines.items()}
    bare = [node for node, kind in fields.items() if kind == _BARE]
    counts = Counter(kind for kind in fields.values() if kind != _BARE)
    if counts and len(bare) <= max(1, _FEW_SHARE * len(fields)):
        fields |= dict.fromkeys(bare, counts.most_common(1)[0][0])
    return fields


def _kind_of(machine: Machine) -> str:
    """The distinct cards of a machine; one that is lost and tells no name is of their kind."""
    names = {device.name for device in machine.devices if device.name}
    return ", ".join(sorted(names or {device.vendor for device in machine.devices}))


def differences(machines: Mapping[str, Machine]) -> tuple[Differs, ...]:
    """Every trait that is not the same on all nodes of a kind."""
    kind = kinds(machines)
    groups: dict[str, list[str]] = {}
    for node in machines:
        groups.setdefault(kind[node], []).append(node)
    return tuple(
        differs
        for name, nodes in sorted(groups.items(), key=lambda pair: -len(pair[1]))
        for differs in _of_kind(name, {node: machines[node] for node in nodes})
    )


def _of_kind(kind: str, machines: Mapping[str, Machine]) -> Iterator[Differs]:
    for trait in TRAITS:
        # value -> the nodes that have it; what a node does not show says nothing of it
        groups: dict[str, list[str]] = {}
        for node, machine in machines.items():
            value = trait.read(machine)
            if value is not None:
                groups.setdefault(value, []).append(node)
        if len(groups) > 1:
            # the usual value, where more than half have it, and the others from the rarest on
            ranked: Sequence[tuple[str, list[str]]] = sorted(
                groups.items(), key=lambda pair: (len(pair[1]), pair[0])
            )
            most, nodes = ranked[-1]
            in_majority = len(nodes) > sum(map(len, groups.values())) / 2
            others = ranked[:-1] if in_majority else ranked
            yield Differs(
                trait=trait.name,
                kind=kind,
                usual=most if in_majority else None,
                n_usual=len(nodes) if in_majority else 0,
                others=tuple(OddNodes(value, tuple(nodes)) for value, nodes in others),
            )


def spread_of(
    nodes: Iterable[NodeReport], kind: Mapping[str, str]
) -> tuple[tuple[NodeSpread, ...], tuple[Straggler, ...]]:
    """Every figure that two nodes of a kind or more have, and the stragglers, the worst first."""
    figures: dict[tuple[str, _Figure], dict[str, Result]] = {}
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


def _worst(results: Iterable[Result]) -> dict[_Figure, Result]:
    """For each figure the slowest card, link or disk of a node."""
    result: dict[_Figure, Result] = {}
    for item in results:
        figure = (item.part, item.what, item.unit)
        known = result.get(figure)
        if known is None or known.beats(item):
            result[figure] = item
    return result


def _behind(spread: NodeSpread, results: Mapping[str, Result]) -> Iterator[Straggler]:
    distances = [abs(item.value - spread.median) for item in results.values()]
    usual = median(distances)
    sign = 1 if spread.unit in SMALLER_IS_BETTER else -1
    for node, result in results.items():
        behind = sign * (result.value - spread.median)
        share = behind / abs(spread.median) if spread.median else 0.0
        by_chance = (
            len(results) >= ENOUGH
            and usual
            and NORMAL * abs(result.value - spread.median) / usual <= ROBUST_Z
        )
        if share > BEHIND_SHARE and not by_chance:
            yield Straggler(node=node, on=result.on, spread=spread, value=result.value, behind_share=share)
