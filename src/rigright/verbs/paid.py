"""What `explain` knows of money: the market where a price is asked for, and what was assumed of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rigright.base.money import USD
from rigright.search.market import PRICED, is_priced

if TYPE_CHECKING:
    from rigright.base.words import Sentence
    from rigright.demand import PlanWish
    from rigright.search.market import Market
    from rigright.search.priced import Priced


def in_dollars(wish: PlanWish) -> PlanWish:
    """The wish without a currency of its own where no money is spoken of: no price is asked for."""
    return wish if is_priced(wish, fields=PRICED) else replace(wish, currency=USD)


@contextmanager
def asked_market(wish: PlanWish) -> Iterator[Market]:
    """Today's market, the user's own prices before ours."""
    from rigright.facts import own_prices
    from rigright.verbs.own import today
    from rigright.verbs.plan import market_of
    from rigright.verbs.planning.checks import check_clouds

    day = today()
    with own_prices.use(*own_prices.listed(wish.prices_file, today=day)):
        check_clouds(wish)
        yield market_of(replace(wish, on=None, owned=None), day=day)


def money_notes(priced: Priced, wish: PlanWish, *, market: Market, chip: str) -> Iterator[Sentence]:
    """The rate of the currency, the tariff of the place, prices of the user's own, and how old a price is."""
    from rigright.facts.chips import by_id
    from rigright.verbs.plan import own_notes, rate_notes, tariff_notes

    yield from rate_notes(wish)
    if wish.place is not None and chip in by_id():
        yield from tariff_notes(wish, by_id()[chip].segment)
    if priced.supply.how == "buy":
        yield from own_notes([chip], market)
    yield from priced.notes
