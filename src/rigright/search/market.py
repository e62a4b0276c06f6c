"""The market of a question: prices of cards and offers of clouds, as records that travel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date

from rigright.cost.prices import from_currency
from rigright.facts.clouds import Offer, offers
from rigright.facts.nodes import Node
from rigright.facts.prices import Price, dated, prices


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """What is sold and rented, as known on a day."""

    today: date
    cards: Mapping[str, Price]  # the newest price of each chip
    offers: Mapping[str, tuple[Offer, ...]]  # whole cards with a price, by chip
    there: Node | None = None  # what is on or owned, where it was looked at and not named


def market_on(today: date, *, own: Iterable[Price] = ()) -> Market:
    """The market of our tables; prices of the user's own go before ours."""
    cards: dict[str, Price] = {}
    for price in sorted(prices(), key=lambda one: (one.kind == "shop", dated(one.as_of))):
        if price.kind in {"shop", "launch"}:
            cards[price.chip] = price
    rented: dict[str, tuple[Offer, ...]] = {}
    for offer in map(_in_usd, offers()):
        if offer.chip is not None and offer.n_chips >= 1 and (offer.usd_per_h or offer.spot_usd_per_h):
            rented[offer.chip] = (*rented.get(offer.chip, ()), offer)
    return Market(today=today, cards=cards | {price.chip: price for price in own}, offers=rented)


def _in_usd(offer: Offer) -> Offer:
    """An offer that names its price in another currency only, at the dated rate of our table."""
    if offer.usd_per_h is not None or offer.native_per_h is None:
        return offer
    return replace(offer, usd_per_h=from_currency(offer.native_per_h, offer.currency))
