"""What many machines told; nodes of one kind held against each other, and the odd ones out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple, TypeVar

from rigright.base.errors import EXIT_INTERRUPT, DataError
from rigright.base.files import save_text
from rigright.base.record import Inner, derived
from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import JudgedCause
from rigright.doctor.examine import EXIT_FAULT, EXIT_WARNING, Examined
from rigright.doctor.record import CheckFinding
from rigright.doctor.wires import bus_cards, hides_cards
from rigright.machine.bench.record import SMALLER_IS_BETTER, Result, Skipped
from rigright.machine.possible import possible
from rigright.machine.record import Machine, Unseen
from rigright.machine.stored import plain, restored
from rigright.machine.traits import TRAITS
from rigright.verbs.fleet.hosts import file_of

_MOST_FIGURES = 20_000  # of one node
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """One node, and what came from it; `trouble` says why nothing did."""

    node: str
    trouble: Sentence | None = None
    machine: Machine | None = None
    examined: Inner[Examined | None] = None
    results: tuple[Result, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    seconds: float | None = None  # the node's own

    def save(self, folder: Path) -> None:
        """Write its words so that `probe --from` reads them too: the machine, and results beside it."""
        fields = {"results": plain(self.results), "skipped": plain(self.skipped), "seconds": self.seconds}
        beside = {name: value for name, value in fields.items() if value}
        save_text(
            folder / file_of(self.node), json.dumps({**plain(self.machine), **beside, "node": self.node})
        )

    @property
    def is_waited_for(self) -> bool:
        """Whether nothing is known of it yet, neither words nor trouble."""
        return self.machine is None and self.trouble is None

    @derived
    def findings(self) -> tuple[CheckFinding, ...]:
        """Its findings, worst first, each with its check."""
        return () if self.examined is None else self.examined.findings

    @property
    def lacks(self) -> Sentence | None:
        """What is missing from its answer, so that no finding is no good news."""
        if self.machine is None:
            return None
        if self.machine.cut:
            return say("the answer was truncated: the rest is not checked")
        hidden = bus_cards(self.machine) if hides_cards(self.machine) else ""
        return say("{cards} on the PCI bus, but no driver lists them here", cards=hidden) if hidden else None

    @derived
    def exit_code(self) -> int:
        """As its own doctor would end; a node that says nothing is as bad as a faulty one."""
        if self.trouble is not None:
            return EXIT_FAULT
        if self.examined is None:
            return 0
        return max(self.examined.exit_code, 0 if self.lacks is None else EXIT_WARNING)


def report_of(node: str, fields: Mapping[str, Any]) -> NodeReport:
    """A node's words as records."""
    try:
        if "problem" in fields:
            told_of = {"what": "node", "why": fields["problem"]}
            return NodeReport(node=node, trouble=restored(Unseen, told_of, where=node).why)
        machine = possible(restored(Machine, fields.get("machine"), where=node))
        results = _listed(Result, fields.get("results"), where=node)
        skipped = _listed(Skipped, fields.get("skipped"), where=node)
    except DataError as error:
        return NodeReport(node=node, trouble=error.whole)
    seconds = fields.get("seconds")
    return NodeReport(
        node=node,
        machine=machine,
        results=results,
        skipped=skipped,
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
    )


def _listed(kind: type[R], values: Any, *, where: str) -> tuple[R, ...]:
    """What was measured there, or was not."""
    if not isinstance(values, list) or len(values) > _MOST_FIGURES:
        return ()
    return tuple(restored(kind, value, where=where) for value in values)


class OddNodes(NamedTuple):
    """Nodes that show another value of a trait."""

    value: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """One trait that is not the same on all nodes of a kind."""

    trait: Sentence
    kind: str  # "8x NVIDIA H100 80GB HBM3": only like nodes are compared
    usual: str | None  # what most have; None: nothing is in the majority
    n_usual: int
    others: tuple[OddNodes, ...]  # the rarest first


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpread:
    """One measured figure over the nodes of a kind."""

    part: str
    what: str
    kind: str
    unit: str
    median: float
    low: float
    high: float
    n_nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler:
    """A node that is slower than its like."""

    node: str
    on: str  # the card, link or disk that is: "gpu 3"
    spread: NodeSpread
    value: float
    behind_share: float  # of the median
    why: JudgedCause | None = None  # what its own doctor holds for the cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Every node's answer and what follows from them together."""

    what: Literal["probe", "doctor", "bench"]
    over: str  # "ssh", "Slurm", "Kubernetes", or a folder
    nodes: tuple[NodeReport, ...]
    differs: tuple[Differs, ...] = ()
    spreads: tuple[NodeSpread, ...] = ()
    stragglers: tuple[Straggler, ...] = ()
    asked: Inner[str] = ""  # as it is typed
    broken_off: bool = False
    saved: str | None = None
    seconds: float = 0.0

    @property
    def silent(self) -> tuple[NodeReport, ...]:
        """Nodes of which nothing came."""
        return tuple(node for node in self.nodes if node.trouble is not None)

    @property
    def told(self) -> tuple[NodeReport, ...]:
        """Nodes that answered."""
        return tuple(node for node in self.nodes if node.trouble is None)

    @derived
    def exit_code(self) -> int:
        """By the worst node; a straggler is a warning, and so are odd ones out."""
        if self.broken_off:
            return EXIT_INTERRUPT
        worst = max((node.exit_code for node in self.nodes), default=0)
        odd = self.stragglers or (self.what == "probe" and self.differs)
        return max(worst, EXIT_WARNING if odd else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHealth:
    """A node as Slurm asks after it."""

    node: str
    examined: Inner[Examined]
    done: str = "nothing"  # what was done: "drained", "drained before", "nothing"
    reason: str | None = None  # as Slurm keeps it

    @derived
    def exit_code(self) -> int:
        """By the worst finding."""
        return self.examined.exit_code

    @derived
    def findings(self) -> tuple[CheckFinding, ...]:
        """What is wrong, worst first."""
        return self.examined.findings


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
