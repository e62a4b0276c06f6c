"""How many of a chip one can come by: units that are sold, instances and single cards that are rented."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rigright.base.money import CNY
from rigright.demand import PlanWish
from rigright.facts.chips import Chip
from rigright.facts.clouds import Offer, providers_of
from rigright.facts.units import sold_count
from rigright.money.renting import chips_of, price_of
from rigright.search.market import Market


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

    Of what nobody rents out to such a wish, the numbers in which it is sold: that is told then.
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
    each, number = chips_of(offer), most_devices(offer)
    unit = each if n_chips <= number else number
    return -(-n_chips // unit) * unit


def most_devices(offer: Offer) -> int:
    """Devices that one machine of an offer holds at most."""
    return max(chips_of(offer), (offer.most_chips or 0) * chips_of(offer) // max(int(offer.n_chips), 1))
