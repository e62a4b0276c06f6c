"""What `prices` found: every price of some cards or parts, what is taken and why; or a list, judged."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.facts.clouds import Offer
from rigright.facts.own_prices import Flaw
from rigright.facts.prices import PartPrice, Price

FINE, DOUBTS, WRONG = 0, 10, 20  # exit codes of a list that was judged


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPrice:
    """One price, and whether an answer is taken from it."""

    price: Price
    taken: bool

    TOLD = "*price taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipPrices:
    """All that is known of one card, and what an answer takes."""

    chip: str  # as `rigright look-up chips` has it
    name: str  # for people
    ended: bool  # made no more
    taken: Estimate | None  # None: nobody says
    used: bool  # whether that is a used card
    why: Sentence  # why this one is taken
    rows: tuple[Price, ...]  # the newest first
    counted: tuple[Price, ...]  # of them, those that the answer is taken from
    rents: tuple[Offer, ...] = ()  # the cheapest first, in dollars
    stale: bool = False  # whether its date is long ago

    TOLD = """
        chip name ended usd=taken as_of=taken.as_of used stale why
        prices=told_prices rent_usd_per_h=rents{provider instance as_of usd_per_chip_h}
    """

    @property
    def told_prices(self) -> tuple[KnownPrice, ...]:
        """Every price, and which of them counted."""
        return tuple(KnownPrice(price=row, taken=row in self.counted) for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """What was asked for."""

    names: str
    currency: str
    chips: tuple[ChipPrices, ...] = ()
    parts: tuple[PartPrice, ...] = ()
    asked: str = ""

    TOLD = "names chips parts"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """A list of the user's own."""

    file: str
    prices: tuple[Price, ...]
    flaws: tuple[Flaw, ...]
    kept: int | None = None  # prices in the list that is kept; None: it was only judged
    place: str | None = None

    TOLD = "file exit_code kept place prices flaws"

    @property
    def exit_code(self) -> int:
        """Fine, doubtful, or nothing to take as it is."""
        return max((WRONG if flaw.wrong else DOUBTS for flaw in self.flaws), default=FINE)
