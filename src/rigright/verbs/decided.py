"""What somebody signs: one plan, what stood beside it, what it costs, what to order, what may go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rigright.base.record import dataclass
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish

if TYPE_CHECKING:
    from rigright.verbs.assembled import Assembled
    from rigright.verbs.costed import Costed, CostWay

LIKELY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One plan, as its file holds it."""

    machine: str
    how: str  # "buy", "rent", "own"
    seller: str
    engine: str
    weights: str
    n_nodes: int
    used: bool
    stale: bool
    as_of: str
    figures: Mapping[str, Estimate]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    rank_bytes: Estimate | None
    room_bytes: float | None  # of a GPU, for a plan

    TOLD = "machine how weights engine figures"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The paper."""

    model: str
    licence: str | None
    wish: PlanWish
    fits: bool
    candidates: tuple[Candidate, ...]  # the recommended one first
    rejected: tuple[tuple[str, str], ...]  # what, and why not
    broken: tuple[str, ...]  # the limits that nothing meets
    notes: tuple[str, ...]
    today: str
    file: str  # the plan's
    asked: str  # what makes it, where it was not saved
    costed: Costed | None = None
    assembled: Assembled | None = None
    open: tuple[Sentence, ...] = ()  # what could not be told, and why

    TOLD = """
        verdict! model fits today plan=file options=candidates rejected{label=0 reason=1}
        reasons! risks! cost=costed order=assembled acceptance!
    """

    @property
    def first(self) -> Candidate:
        """What is recommended."""
        return self.candidates[0]

    @property
    def instead(self) -> CostWay | None:
        """Another way to have the machine that likely costs less than buying it."""
        other = None if self.costed is None or self.first.how != "buy" else self.costed.other
        return other if other is not None and other.chance is not None and other.chance < LIKELY else None

    @property
    def is_doubtful(self) -> bool:
        """Whether the years speak against the way that was planned; one run of a training takes no years."""
        made = self.costed
        other = None if made is None else made.other
        buys = other is not None and other.chance is not None and other.chance > 1 - LIKELY
        rents = self.first.how == "rent" and "days" not in self.first.figures and self.wish.buy is not False
        return self.instead is not None or (rents and buys)
