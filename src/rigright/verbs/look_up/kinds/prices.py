"""Prices of chips: every one with its date, and marked where it is too old to act on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from rigright.base.errors import AskError
from rigright.base.money import USD, from_currency
from rigright.base.words import Sentence, say
from rigright.facts.chips import by_id
from rigright.facts.find import find_chips, match_chip
from rigright.facts.prices import Price, dated, is_stale, prices
from rigright.verbs.look_up.fields import DOLLARS, confidence_shown, field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.words import doubt_notes, source_shown, stale_notes


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
    return Seen(
        chip=price.chip,
        name=by_id()[price.chip].name,
        usd=from_currency(price.typical, price.currency),
        usd_min=_usd(price.low, price),
        usd_max=_usd(price.high, price),
        currency=price.currency,
        native=None if price.currency == USD else price.typical,
        kind=price.kind,
        as_of=price.as_of,
        stale=is_stale(price.as_of, today),
        listings=price.listings,
        source=price.source,
        confidence=price.confidence,
    )


def _usd(amount: float | None, price: Price) -> float | None:
    return None if amount is None else from_currency(amount, price.currency)


def _find(asked: LookUpQuery) -> tuple[Seen, ...]:
    """Prices of the chips the words could mean, newest first."""
    wanted = _wanted(" ".join(asked.words)) if asked.words else by_id().keys()
    listings = [_seen(price, asked.today) for price in prices() if price.chip in wanted]
    if not listings:
        raise AskError(say('no known price for "{text}"', text=" ".join(asked.words)))
    return tuple(sorted(listings, key=lambda seen: dated(seen.as_of), reverse=True))


def _wanted(text: str) -> set[str]:
    """The chip a name means, or all it could mean."""
    try:
        return {match_chip(text).chip.id}
    except AskError:
        return {chip.id for chip in find_chips(text)}


def _kind_shown(kind: str) -> Sentence:
    return {
        "launch": say("new, launch price"),
        "shop": say("new, shop median"),
        "street": say("new, street price"),
        "used": say("used"),
        "claim": say("a claim"),
    }.get(kind, say("unknown"))


KIND = ListingKind(
    record=Seen,
    summary=say("GPU prices with dates"),
    title=say("Prices of chips"),
    fields=(
        field("name", say("chip"), listed=True, flexible=True),
        field("kind", say("condition"), show=_kind_shown, listed=True),
        field("usd_min", say("low $"), "low", unit=DOLLARS, listed=True),
        field("usd", say("typical $"), "price", listed=True),
        field("usd_max", say("high $"), "high", unit=DOLLARS, listed=True),
        field("currency", say("currency")),
        field("native", say("typical, in that currency"), unit=DOLLARS),
        field("as_of", say("as of"), "since", "date", listed=True),
        field("stale", say("age"), show=lambda stale: say("stale") if stale else "", listed=True),
        field("chip", say("id")),
        field("listings", say("listings")),
        field("source", say("source"), flexible=True),
        field("confidence", say("confidence"), show=confidence_shown),
    ),
    find=_find,
    notes=lambda asked, kept: (
        *stale_notes({value.as_of for value in kept}, asked.today),
        *doubt_notes(kept),
    ),
    tone=lambda value: "dim" if value.stale else "plain",
    sources=source_shown,
)
