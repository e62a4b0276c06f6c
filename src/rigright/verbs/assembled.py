"""A list of parts that was judged, and machines that were put together, as answers."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.base.words import Sentence
from rigright.build.machine import Rig
from rigright.build.proposals.record import BuildWish, Proposal, Proposed, recommended
from rigright.build.ruling import OK, Ruling, worst

EXITS = {"ok": 0, "doubt": 10, "impossible": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedList:
    """A person's list, as it was read, and what the rules say of it."""

    rig: Rig
    rulings: tuple[Ruling, ...]
    lines: tuple[tuple[str, str], ...]  # kind and text as written

    TOLD = """
        verdict exit_code answer! rules=rulings read=lines{part=0 text=1}
        understood!{part=0 as=1}  # each line as it was taken
        missing! unknown=rig.unknown{part=0 text=1}
    """

    @property
    def verdict(self) -> str:
        """On the whole."""
        return worst(self.rulings)

    @property
    def exit_code(self) -> int:
        """By the verdict."""
        return EXITS[self.verdict]

    @property
    def against(self) -> tuple[Ruling, ...]:
        """What is not fine, the worst first."""
        return tuple(one for one in self.rulings if one.verdict != OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Machines around some cards, or around those of a plan."""

    cards: str  # of one machine: "2x GeForce RTX 4090"
    wanted: BuildWish
    proposed: Proposed
    today: str  # prices are stale or not against it
    model: str | None = None  # whose plan it is
    notes: tuple[Sentence, ...] = ()  # what was assumed, and what to know
    currency: str = "USD"
    asked: str = ""  # the command that asks this again

    TOLD = """
        answer! buildable cards machines=wanted.machines model variants=proposed.variants
        nearest=proposed.nearest rejected=proposed.refusals{part=name rule reason=why}
        over_budget budget_usd=wanted.budget_usd today notes
    """

    @property
    def buildable(self) -> bool:
        """Whether there is a machine to order."""
        return self.first is not None

    @property
    def first(self) -> Proposal | None:
        """The one to take."""
        return recommended(self.proposed.variants)

    @property
    def over_budget(self) -> bool:
        """Whether what it costs is more than was said."""
        limit, first = self.wanted.budget_usd, self.first
        return limit is not None and first is not None and first.usd.value * first.machines > limit
