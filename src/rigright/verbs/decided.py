"""What somebody signs: one plan, what stood beside it, what it costs, what to order, what may go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rigright.base.record import Inner, dataclass
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish

if TYPE_CHECKING:
    from rigright.verbs.build import Assembled
    from rigright.verbs.costed import Costed, CostWay

LIKELY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One plan, as its file holds it."""

    machine: str
    how: str  # "buy", "rent", "own"
    seller: Inner[str]
    engine: str
    weights: str
    n_nodes: Inner[int]
    used: Inner[bool]
    stale: Inner[bool]
    as_of: Inner[str]
    figures: Mapping[str, Estimate]
    reasons: Inner[tuple[str, ...]]
    notes: Inner[tuple[str, ...]]
    rank_bytes: Inner[Estimate | None]
    room_bytes: Inner[float | None]  # of a GPU, for a plan


class Rejected(NamedTuple):
    """What does not do, and why."""

    label: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The paper."""

    model: str
    licence: Inner[str | None]
    wish: Inner[PlanWish]
    fits: bool
    options: tuple[Candidate, ...]  # the recommended one first
    rejected: tuple[Rejected, ...]
    broken: Inner[tuple[str, ...]]  # the limits that nothing meets
    notes: Inner[tuple[str, ...]]
    today: str
    plan: str  # the plan's
    asked: Inner[str]  # what makes it, where it was not saved
    cost: Costed | None = None
    order: Assembled | None = None
    open: Inner[tuple[Sentence, ...]] = ()  # what could not be stated, and why

    @property
    def first(self) -> Candidate:
        """What is recommended."""
        return self.options[0]

    @property
    def instead(self) -> CostWay | None:
        """Another way to have the machine that likely costs less than buying it."""
        other = None if self.cost is None or self.first.how != "buy" else self.cost.other
        return (
            other
            if other is not None and other.buy_is_cheaper is not None and other.buy_is_cheaper < LIKELY
            else None
        )

    @property
    def is_doubtful(self) -> bool:
        """Whether the years speak against the way that was planned; one run of a training takes no years."""
        made = self.cost
        other = None if made is None else made.other
        buys = other is not None and other.buy_is_cheaper is not None and other.buy_is_cheaper > 1 - LIKELY
        rents = self.first.how == "rent" and "days" not in self.first.figures and self.wish.buy is not False
        return self.instead is not None or (rents and buys)
