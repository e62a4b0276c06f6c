"""The market of a question: prices of cards, offers of clouds, and how many of a chip one can come by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import date
from typing import Any

from rigright.base.money import CNY, from_currency
from rigright.base.record import dataclass
from rigright.demand import PlanWish
from rigright.facts.chips import Chip, by_id, chips
from rigright.facts.clouds import Offer, in_usd, offers, providers_of
from rigright.facts.hosts import CPU
from rigright.facts.nodes import Node
from rigright.facts.own_prices import in_force
from rigright.facts.prices import OWN, OWN_RENT, Price
from rigright.facts.units import sold_count
from rigright.money.machine_price import Ordered
from rigright.money.prices import GUESSED, Quote, quote_of
from rigright.money.renting import BOX, chips_of, price_of

PRICED = (  # of a wish: what asks for a price, or sets a limit to it
    "budget_usd", "usd_per_h", "usd_per_mtok", "power_w", "owned", "clouds", "buy", "spot", "used",
    "tariff_usd_per_kwh", "place", "customer", "pue", "years", "duty", "prices_file",
)  # fmt: skip
_PLAIN = PlanWish()


def is_priced(wish: PlanWish, *, fields: tuple[str, ...] = (*PRICED, "currency")) -> bool:
    """Whether anything that was said asks what the machine costs or draws."""
    return any(getattr(wish, name) != getattr(_PLAIN, name) for name in fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """What is sold and rented, as known on a day."""

    today: date
    cards: Mapping[str, Quote]  # what one card of each chip is bought for
    offers: Mapping[str, tuple[Offer, ...]]  # whole cards with a price, by chip
    own: frozenset[str] = frozenset()  # chips whose price is the user's own
    used: bool | None = None  # None: what is made no more
    currency: str = "USD"
    ordered: Ordered | None = None  # puts a machine together of which somebody said more than its cards
    there: Node | None = None  # what is on or owned, where it was looked at and not named

    def quote(self, chip: Chip, *, guess: bool = False) -> Quote | None:
        """What a card goes for; one with another memory than usual has a price of its own.

        `guess`: a price that is reckoned from what was asked once will do, for a machine that was named.
        """
        if chip.vendor == CPU:  # the host is all there is to buy
            return Quote(chip=chip.id, usd=0.0, usd_low=0.0, usd_high=0.0, used=False, mark="stated",
                         as_of=self.today.isoformat(), source="", currency=self.currency)  # fmt: skip
        usual = by_id().get(chip.id)
        known = self.cards.get(chip.id)
        if chip.id in self.own or usual is None:
            return known
        if chip.is_instance and sold_count(usual, 1) > 1:
            return None  # nobody buys a board for a slice
        odd = usual.mem_bytes != chip.mem_bytes and not chip.is_instance
        if odd or (known is None and guess):
            result = quote_of(chip, today=self.today, currency=self.currency, used=self.used)
            guessed = result is not None and result.mark == GUESSED
            known = result if guessed is guess or (odd and not guessed) else None
        return known


def market_on(today: date, *, currency: str = "USD", used: bool | None = None) -> Market:
    """The market of our tables for a buyer in some currency; the user's own prices go before ours."""
    quotes = (quote_of(chip, today=today, currency=currency, used=used) for chip in chips())
    cards = {quote.chip: quote for quote in quotes if quote is not None and quote.mark != GUESSED}
    rented: dict[str, tuple[Offer, ...]] = {}
    for offer in map(in_usd, offers()):
        if offer.chip is not None and offer.n_chips >= 1 and (offer.usd_per_h or offer.spot_usd_per_h):
            rented[offer.chip] = (*rented.get(offer.chip, ()), offer)
    own = in_force()
    for chip, rows in own.items():
        leases = tuple(_own_offer(row) for row in rows if row.kind == OWN_RENT)
        rented[chip] = (*leases, *rented.get(chip, ()))
    bought = {chip for chip, rows in own.items() if any(row.kind != OWN_RENT for row in rows)}
    return Market(
        today=today, cards=cards, offers=rented, own=frozenset(bought), used=used,
        currency=currency,
    )  # fmt: skip


def _own_offer(price: Price) -> Offer:
    """What the user pays for an hour of one card, as an offer of as many as a server holds."""
    chip = by_id()[price.chip]
    given: dict[str, Any] = {
        "provider": price.provider or "own", "instance": chip.name, "chip": chip.id, "said": chip.name,
        "n_chips": 1.0, "most_chips": BOX, "mem_bytes": chip.mem_bytes, "currency": price.currency,
        "usd_per_h": from_currency(price.typical, price.currency), "as_of": price.as_of,
        "source": price.source, "confidence": OWN,
    }  # fmt: skip
    unknown: dict[str, Any] = dict.fromkeys(field.name for field in fields(Offer))
    return Offer(**unknown | given)


def offers_of(market: Market, chip: str, *, wish: PlanWish) -> tuple[Offer, ...]:
    """What is rented out of a chip, whole cards, with a price: in the clouds that are named, else at home.

    What the user pays by a price of their own goes before all. Clouds that bill in yuan rent to those who
    pay in yuan, and the others hardly do.
    """
    clouds = {provider for cloud in wish.clouds for provider in (*providers_of(cloud), cloud)}
    at_home = wish.currency == CNY
    known = [offer for offer in market.offers.get(chip, ()) if price_of(offer, spot=wish.spot)]
    own = tuple(offer for offer in known if offer.is_own)
    if own and not wish.clouds:
        return own
    return tuple(
        offer
        for offer in known
        if (offer.provider in clouds if wish.clouds else (offer.currency == CNY) == at_home)
    )


def counts_of(
    chip: Chip, wish: PlanWish, *, market: Market, asked: Iterable[int], most: int | None = None
) -> tuple[int, ...]:
    """Each number that is asked for, or the next that can be had; `most` at most.

    Of what nobody rents out to such a wish, the numbers in which it is sold: that is stated then.
    """
    asked = tuple(asked)
    numbers = set(_counts(chip, wish, market=market, asked=asked)) or {
        sold_count(chip, number) for number in asked
    }
    return tuple(sorted(count for count in numbers if most is None or count <= most))


def _counts(chip: Chip, wish: PlanWish, *, market: Market, asked: tuple[int, ...]) -> Iterator[int]:
    if wish.buy is not False and not wish.clouds:
        yield from (sold_count(chip, count) for count in asked)
    for offer in offers_of(market, chip.id, wish=wish) if wish.buy is not True else ():
        yield from (rented_count(offer, count) for count in asked)


def rented_count(offer: Offer, n_chips: int) -> int:
    """The fewest devices of whole instances that hold so many; beyond one machine, of whole machines."""
    each = chips_of(offer)
    number = max(each, (offer.most_chips or 0) * each // max(int(offer.n_chips), 1))
    unit = each if n_chips <= number else number
    return -(-n_chips // unit) * unit
