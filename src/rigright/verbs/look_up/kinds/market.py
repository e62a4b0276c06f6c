"""What hardware and power cost: clouds, prices of chips, electricity tariffs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from rigright.base.errors import AskError
from rigright.base.money import USD, from_currency
from rigright.base.page import Shown
from rigright.base.words import say
from rigright.facts.chips import by_id
from rigright.facts.clouds import Offer, in_usd, offers, providers_of
from rigright.facts.find import find_chips, match_chip, names_chip
from rigright.facts.prices import Price, dated, is_stale, prices
from rigright.facts.tariffs import KwhPrice, find_place, places, tariffs
from rigright.verbs.look_up.filters import with_words
from rigright.verbs.look_up.listing import (
    ListingKind,
    LookUpQuery,
    doubt_notes,
    fields_of,
    price_date_shown,
    stale_notes,
)


@cache
def _offers() -> tuple[Offer, ...]:
    """Every offer, with dollars where it is billed in another currency."""
    return tuple(map(in_usd, offers()))


def _find_offers(asked: LookUpQuery) -> tuple[Offer, ...]:
    """Offers of the providers named, of the instances or chips the other words mean."""
    named = {provider for word in asked.words for provider in providers_of(word)}
    rest = " ".join(word for word in asked.words if not providers_of(word))
    of_provider = tuple(offer for offer in _offers() if not named or offer.provider in named)
    wanted = frozenset(chip.id for chip in find_chips(rest)) if rest and names_chip(rest) else frozenset()
    called = with_words(of_provider, rest, texts=lambda offer: offer.instance)
    result = tuple(offer for offer in of_provider if offer in called or offer.chip in wanted)
    if not result:
        raise AskError(say('no cloud in the table offers "{text}"', text=asked.text))
    return result


def _offer_notes(asked: LookUpQuery, kept: tuple[Offer, ...]) -> tuple[Shown, ...]:
    dates = {offer.as_of for offer in kept}
    newest = max((as_of for as_of in dates if as_of), default=None)
    return (
        say(
            "hourly prices, each as of its own date; newest: {date}",
            date=price_date_shown(newest, asked.today),
        ),
        *stale_notes(dates, asked.today),
        *doubt_notes(kept),
    )


CLOUDS = ListingKind(
    record=Offer,
    title=say("Cloud instances"),
    fields=fields_of("clouds", shows={"chip": lambda chip: by_id()[chip].name if chip in by_id() else chip}),
    records=lambda _: _offers(),
    find=_find_offers,
    notes=_offer_notes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A price seen from a day."""

    chip: str
    name: str
    usd: float
    usd_min: float | None
    usd_max: float | None
    currency: str
    native: float | None
    kind: str
    as_of: str
    stale: bool
    listings: int | None
    source: str
    confidence: str


def _seen(price: Price, today: date) -> Seen:
    same = ("chip", "currency", "kind", "as_of", "listings", "source", "confidence")
    given: dict[str, Any] = {name: getattr(price, name) for name in same}
    for name, end in (("usd", price.typical), ("usd_min", price.low), ("usd_max", price.high)):
        given[name] = None if end is None else from_currency(end, price.currency)
    native = None if price.currency == USD else price.typical
    stale = is_stale(price.as_of, today)
    return Seen(name=by_id()[price.chip].name, native=native, stale=stale, **given)


def _prices(asked: LookUpQuery, chips: frozenset[str] | None = None) -> tuple[Seen, ...]:
    """Prices, newest first, of all chips or of these."""
    seen = [_seen(price, asked.today) for price in prices() if chips is None or price.chip in chips]
    return tuple(sorted(seen, key=lambda price: dated(price.as_of), reverse=True))


def _find_prices(asked: LookUpQuery) -> tuple[Seen, ...]:
    """Those of the chip a name means, or of all it could mean."""
    try:
        chips = frozenset({match_chip(asked.text).chip.id})
    except AskError:
        chips = frozenset(chip.id for chip in find_chips(asked.text))
    found = _prices(asked, chips)
    if not found:
        see = say("`{see}` lists what it rents for", see=f"rigright look-up clouds {shlex.quote(asked.text)}")
        rents = any(offer.chip in chips for offer in offers())
        raise AskError(say('no known price for "{text}"', text=asked.text), hint=see if rents else None)
    return found


PRICES = ListingKind(
    record=Seen,
    title=say("Prices of chips"),
    fields=fields_of("prices", shows={"stale": lambda stale: say("stale") if stale else ""}),
    records=_prices,
    find=_find_prices,
    notes=lambda asked, kept: (
        *stale_notes({value.as_of for value in kept}, asked.today),
        *doubt_notes(kept),
    ),
)


def _find_tariffs(asked: LookUpQuery) -> tuple[KwhPrice, ...]:
    """Every figure of the place that is named."""
    place = find_place(asked.text).place
    return tuple(kwh_price for kwh_price in tariffs() if kwh_price.place == place)


TARIFFS = ListingKind(
    record=KwhPrice,
    title=say("Electricity tariffs"),
    fields=fields_of("tariffs", shows={"place": lambda code: say("{text}", text=places()[code].shown)}),
    records=lambda _: tariffs(),
    find=_find_tariffs,
)
