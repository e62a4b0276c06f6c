"""What many machines told: each node's machine, findings and figures, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from rigright.base.record import Inner, derived
from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import JudgedCause
from rigright.doctor.examine import EXIT_FAULT, EXIT_WARNING, Examined
from rigright.doctor.record import CheckFinding
from rigright.doctor.wires import bus_cards, hides_cards
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.record import Machine

EXIT_INTERRUPT = 130


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
    notes: Inner[tuple[Sentence, ...]] = ()

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
