"""What many machines told: each node's machine, findings and figures, and where they differ.

A node's words come as plain data from its agent or out of a file; what cannot be read is told of it alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from rigright.base.errors import EXIT_INTERRUPT, DataError
from rigright.base.files import save_text
from rigright.base.record import Inner, derived
from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import JudgedCause
from rigright.doctor.examine import EXIT_FAULT, EXIT_WARNING, Examined
from rigright.doctor.record import CheckFinding
from rigright.doctor.wires import bus_cards, hides_cards
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.possible import possible
from rigright.machine.record import Machine, Unseen
from rigright.machine.stored import plain, restored
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
