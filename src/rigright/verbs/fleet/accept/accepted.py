"""What an acceptance found: which nodes fail and why, which were not judged, what holds for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rigright.base.errors import EXIT_INTERRUPT
from rigright.base.record import Inner, derived
from rigright.base.words import Sentence
from rigright.doctor.examine import EXIT_FAULT, EXIT_WARNING
from rigright.machine.bench.record import Result
from rigright.verbs.fleet.nodes import Differs, NodeReport

DRAIN = "drain.txt"  # in the folder: nodes that fail, one a line
Source = Literal["values", "doctor", "baseline", "reference", "cards", "peers", "traits", "network"]
State = Literal["pass", "fail", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """One reason why a node fails: what was seen, and what it should be."""

    source: Source
    says: Sentence
    seen: Sentence | None = None
    about: str | None = None  # "gpu 3", "nvme0n1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One figure of a node that lies too low (a time: too high), and against what."""

    node: str
    result: Result
    source: Source
    full: float

    @derived
    def share(self) -> float:
        """Reached of it."""
        return self.result.share_of(self.full)


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Nodes that measured together, and the rate of the wires they reached; None: they did not get there."""

    stage: str  # "pairs", "trial", "halves"
    nodes: tuple[str, ...]
    value: float | None = None
    why: Sentence | None = None
    wrong: int = 0
    unable: tuple[str, ...] = ()  # of them: nodes that could not take part, which says nothing of a network


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Nodes that are each fine, and slow together: something between them."""

    nodes: tuple[str, ...]
    value: float | None
    full: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJudged:
    """One node and its verdict; "open" is neither good nor bad: too little is known."""

    node: str
    state: State
    reasons: tuple[Failing, ...] = ()
    not_judged: tuple[Sentence, ...] = ()  # what was not judged, and why
    report: Inner[NodeReport | None] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The whole acceptance."""

    over: str
    asked: Inner[str]
    folder: str
    nodes: tuple[NodeJudged, ...]
    meetings: tuple[Met, ...] = ()
    between: tuple[Between, ...] = ()
    everywhere: tuple[Suspect, ...] = ()  # figures that most nodes of a kind miss: one of them stands for all
    differs: Inner[tuple[Differs, ...]] = ()
    reports: tuple[str, ...] = ()
    broken_off: bool = False
    seconds: float = 0.0

    def named(self, state: State) -> tuple[NodeJudged, ...]:
        """The nodes with this verdict."""
        return tuple(verdict for verdict in self.nodes if verdict.state == state)

    @derived
    def exit_code(self) -> int:
        """A node that fails is a fault; one that was not judged, or what holds for all, is a warning."""
        if self.broken_off:
            return EXIT_INTERRUPT
        if self.named("fail"):
            return EXIT_FAULT
        return EXIT_WARNING if self.named("open") or self.between or self.everywhere else 0
