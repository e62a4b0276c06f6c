"""A machine put together: what to order, what it costs, what rules say of it, and what was left behind."""

from __future__ import annotations

from collections.abc import Iterable

from rigright.base.record import Inner, dataclass, derived
from rigright.base.words import Sentence, say
from rigright.build.judge import DOUBT, Ruling
from rigright.build.machine import Circuit, Rig
from rigright.cost.estimate import Estimate, added
from rigright.facts.prices import OrderLine
from rigright.money.machine_price import NOTHING, Stored
from rigright.money.tariff import NO_HOST

CHEAPEST, RECOMMENDED, GROWING = "cheapest", "recommended", "growing"
LABELS = (CHEAPEST, RECOMMENDED, GROWING)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildWish:
    """What a machine is built for."""

    cards: tuple[tuple[str, int], ...]  # ids of chips and counts, of one machine
    machines: int = 1
    processor: str | None = None  # its name, where somebody says which
    sockets: int | None = None
    ram_bytes: float = 0.0  # main memory that somebody needs at least
    stored: Stored = NOTHING  # what its disks hold
    circuit: Circuit | None = None
    pc: Rig | None = None  # a machine without cards that is there, and takes them
    limit_w: float | None = None  # power limit of each card
    budget_usd: float | None = None
    currency: str = "USD"  # of the market that the cards are bought on
    used: bool = False
    owned: tuple[tuple[str, int], ...] = ()  # cards of all machines that are there already and cost nothing
    cards_usd: Estimate | None = None  # of those that are bought for all machines, as a plan has it

    def there(self, chip: str, count: int) -> int:
        """How many of so many cards in all machines are there already."""
        return min(dict(self.owned).get(chip, 0), count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of an order."""

    kind: str  # a key of `report.pages.build.KINDS`
    count: int
    name: str | Sentence
    usd: Estimate | None  # of all of them; None: nobody knows
    line: Inner[OrderLine | None] = None  # what it is priced by, as it is kept in data/orders.csv
    owned: bool = False  # it is there already and costs nothing
    used: bool = False  # it is bought used

    @property
    def value(self) -> float:
        """Dollars, 0 where nobody knows."""
        return 0.0 if self.usd is None else self.usd.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One machine."""

    label: str
    rig: Inner[Rig]
    items: tuple[Item, ...]
    rules: tuple[Ruling, ...]
    wall_w: float | None
    limit_w: float | None = None  # to which each card is held, for the breaker's sake
    machines: int = 1  # such machines that are ordered

    @derived
    def usd(self) -> Estimate:
        """Of the whole."""
        return total(self.items)

    @derived
    def around_usd(self) -> Estimate:
        """Of all but the cards; nothing stands around what is sold as a whole."""
        closed = self.rig.machine is not None and self.rig.machine.kind == "closed"
        return NO_HOST if closed else total(item for item in self.items if item.kind != "gpu")

    @property
    def is_priced(self) -> bool:
        """Whether the cards and what holds them have a price."""
        return all(item.usd is not None for item in self.items if item.kind in {"gpu", "machine"})

    @property
    def is_ordered(self) -> bool:
        """Whether what holds the cards has a price."""
        return all(item.usd is not None for item in self.items if item.kind in {"machine", "board"})

    @property
    def doubts(self) -> tuple[Ruling, ...]:
        """What somebody should look into."""
        return tuple(ruling for ruling in self.rules if ruling.verdict == DOUBT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A part that would not do, by which rule and why."""

    part: str
    rule: str
    reason: Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """Every variant, and what was left behind."""

    variants: tuple[Proposal, ...]
    refusals: tuple[Refusal, ...]
    nearest: Sentence | None = None  # where nothing does what was asked: what comes nearest

    def refused(self, cards: str, *, in_pc: bool) -> Sentence:
        """Why there is no machine."""
        fields = {"cards": cards, "nearest": self.nearest or ""}
        if in_pc:
            return say("your PC does not take {cards}: {nearest}", **fields)
        return say("no known machine holds {cards}; {nearest}", **fields)


def recommended(variants: tuple[Proposal, ...]) -> Proposal | None:
    """The one to take."""
    return next(
        (proposal for proposal in variants if proposal.label == RECOMMENDED),
        variants[0] if variants else None,
    )


def total(items: Iterable[Item]) -> Estimate:
    """The sum of what is known."""
    return added([item.usd for item in items if item.usd is not None])
