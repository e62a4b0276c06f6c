"""What `prices` found: every price of some cards or parts, what is taken and why; or a list, judged."""

from __future__ import annotations

from typing import NamedTuple

from rigright.base.record import Flat, Inner, dataclass, derived
from rigright.base.words import Sentence
from rigright.cost.estimate import Estimate
from rigright.facts.clouds import Offer
from rigright.facts.own_prices import Flaw
from rigright.facts.prices import PartPrice, Price

FINE, DOUBTS, WRONG = 0, 10, 20  # exit codes of a list that was judged


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPrice:
    """One price, and whether an answer is taken from it."""

    price: Flat[Price]
    taken: bool


class RentPrice(NamedTuple):
    """What a cloud asks for such a card."""

    provider: str
    instance: str
    as_of: str | None  # date of the price
    usd_per_chip_h: float | None  # on demand


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipPrices:
    """All that is known of one card, and what an answer takes."""

    chip: str  # as `rigright look-up chips` has it
    name: str  # for people
    ended: bool  # made no more
    usd: Estimate | None  # None: nobody says
    used: bool  # whether that is a used card
    why: Sentence  # why this one is taken
    rows: Inner[tuple[Price, ...]]  # the newest first
    counted: Inner[tuple[Price, ...]]  # of them, those that the answer is taken from
    rents: Inner[tuple[Offer, ...]] = ()  # the cheapest first, in dollars
    stale: bool = False  # whether its date is long ago

    @derived
    def rent_usd_per_h(self) -> tuple[RentPrice, ...]:
        """What clouds ask for it, the cheapest first."""
        return tuple(
            RentPrice(offer.provider, offer.instance, offer.as_of, offer.usd_per_chip_h)
            for offer in self.rents
        )

    @derived
    def as_of(self) -> str | None:
        """Date of that price."""
        return None if self.usd is None else self.usd.as_of

    @derived
    def prices(self) -> tuple[KnownPrice, ...]:
        """Every price, and which of them counted."""
        return tuple(KnownPrice(price=row, taken=row in self.counted) for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class PricesOfNames:
    """What was asked for."""

    names: str
    currency: Inner[str]
    chips: tuple[ChipPrices, ...] = ()
    parts: tuple[PartPrice, ...] = ()
    asked: Inner[str] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """A list of the user's own."""

    file: str
    prices: tuple[Price, ...]
    flaws: tuple[Flaw, ...]
    kept: int | None = None  # prices in the list that is kept; None: it was only judged
    place: str | None = None

    @derived
    def exit_code(self) -> int:
        """Fine, doubtful, or nothing to take as it is."""
        return max((WRONG if flaw.wrong else DOUBTS for flaw in self.flaws), default=FINE)
