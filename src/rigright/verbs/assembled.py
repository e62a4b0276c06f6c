"""A list of parts that was judged, and machines that were put together, as answers."""

from __future__ import annotations

from rigright.base.record import Inner, dataclass, derived
from rigright.base.words import Sentence
from rigright.build.judge import OK, Ruling, worst
from rigright.build.listed import ListLine
from rigright.build.machine import Rig
from rigright.build.proposals.record import BuildWish, Proposal, Proposed, Refusal, recommended

EXITS = {"ok": 0, "doubt": 10, "impossible": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedList:
    """A person's list, as it was read, and what the rules say of it."""

    rig: Inner[Rig]
    rules: tuple[Ruling, ...]
    read: tuple[ListLine, ...]  # each as it was written

    @derived
    def unknown(self) -> tuple[ListLine, ...]:
        """Lines that no table knows."""
        return tuple(ListLine(part=part, text=text) for part, text in self.rig.unknown)

    @derived
    def verdict(self) -> str:
        """On the whole."""
        return worst(self.rules)

    @derived
    def exit_code(self) -> int:
        """By the verdict."""
        return EXITS[self.verdict]

    @property
    def against(self) -> tuple[Ruling, ...]:
        """What is not fine, the worst first."""
        return tuple(ruling for ruling in self.rules if ruling.verdict != OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Machines around some cards, or around those of a plan."""

    cards: str  # of one machine: "2x GeForce RTX 4090"
    wanted: Inner[BuildWish]
    proposed: Inner[Proposed]
    today: str  # prices are stale or not against it
    model: str | None = None  # whose plan it is
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    currency: Inner[str] = "USD"
    asked: Inner[str] = ""  # the command that asks this again

    @derived
    def machines(self) -> int:
        """Such machines that are wanted."""
        return self.wanted.machines

    @derived
    def variants(self) -> tuple[Proposal, ...]:
        """Machines to choose from."""
        return self.proposed.variants

    @derived
    def nearest(self) -> Sentence | None:
        """Where nothing holds the cards: what comes closest."""
        return self.proposed.nearest

    @derived
    def rejected(self) -> tuple[Refusal, ...]:
        """Parts that would not do."""
        return self.proposed.refusals

    @derived
    def budget_usd(self) -> float | None:
        """What it may cost."""
        return self.wanted.budget_usd

    @derived
    def buildable(self) -> bool:
        """Whether there is a machine to order."""
        return self.first is not None

    @property
    def first(self) -> Proposal | None:
        """The one to take."""
        return recommended(self.proposed.variants)

    @derived
    def over_budget(self) -> bool:
        """Whether what it costs is more than was said."""
        limit, first = self.wanted.budget_usd, self.first
        return limit is not None and first is not None and first.usd.value * first.machines > limit
