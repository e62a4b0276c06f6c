"""The odd ones out: traits in which nodes of one kind differ, held against what most of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rigright.machine.record import Machine
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.nodes import Differs, OddNodes

FEW_SHARE = 0.25  # so few nodes without any card among nodes with cards are odd ones, not a kind of their own
BARE = ""


def kinds(machines: Mapping[str, Machine]) -> dict[str, str]:
    """Node -> its kind: the names of its cards. Few nodes without cards are held against the largest kind."""
    fields = {node: kind_of(machine) for node, machine in machines.items()}
    bare = [node for node, kind in fields.items() if kind == BARE]
    counts = Counter(kind for kind in fields.values() if kind != BARE)
    if counts and len(bare) <= max(1, FEW_SHARE * len(fields)):
        fields |= dict.fromkeys(bare, counts.most_common(1)[0][0])
    return fields


def kind_of(machine: Machine) -> str:
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
        fields: dict[str, list[str]] = {}
        for node, machine in machines.items():
            value = trait.read(machine)
            if value is not None:
                fields.setdefault(value, []).append(node)
        values = fields
        if len(values) > 1:
            # the usual value, where more than half have it, and the others from the rarest on
            ranked: Sequence[tuple[str, list[str]]] = sorted(
                values.items(), key=lambda pair: (len(pair[1]), pair[0])
            )
            most, nodes = ranked[-1]
            in_majority = len(nodes) > sum(map(len, values.values())) / 2
            others = ranked[:-1] if in_majority else ranked
            yield Differs(
                trait=trait.name,
                kind=kind,
                usual=most if in_majority else None,
                n_usual=len(nodes) if in_majority else 0,
                others=tuple(OddNodes(value, tuple(nodes)) for value, nodes in others),
            )
