"""Prices: what is known, what is taken and why; lists of the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rigright.base.errors import AskError, DataError, MissingError
from rigright.base.everyday import words_of
from rigright.base.money import from_currency
from rigright.base.record import Flat, Inner, dataclass, derived
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish
from rigright.facts import own_prices
from rigright.facts.chips import Chip, by_id, chips
from rigright.facts.clouds import Offer
from rigright.facts.find import find_chips, match_chip
from rigright.facts.own_prices import Flaw
from rigright.facts.prices import (
    NEW,
    OWN_RENT,
    USED,
    PartPrice,
    Price,
    all_part_prices,
    dated,
    is_stale,
    newest_prices,
)
from rigright.facts.prices import prices as known_prices
from rigright.money.prices import Quote, newest_own, priced
from rigright.search.market import Market
from rigright.verbs.own import today
from rigright.verbs.plan import market_of

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


_SIZE = re.compile(r"\d+\s*[gt]b?(?![a-z])", re.IGNORECASE)
_USED = re.compile(r"二手的?|\b(?:used|second[- ]hand)\b", re.IGNORECASE)
FAR_OFF = 4.0  # times what is known: one of the two is wrong


def prices(names: Sequence[str] = (), *, wish: PlanWish | None = None, asked: str = "") -> PricesOfNames:
    """Every price of the cards or parts that are meant; of all cards where none is named."""
    wish = wish or PlanWish()
    text = _USED.sub(" ", " ".join(names)).strip()
    wish = replace(wish, used=True) if text != " ".join(names).strip() else wish
    market = market_of(wish, day=today())
    parts: tuple[PartPrice, ...] = ()
    if text:
        parts = _parts(text) or _parts(_SIZE.sub(" ", text))  # of no price, those of other sizes
        meant = () if parts else _meant(text)
    else:
        meant = tuple(chip for chip in chips() if chip.id in market.cards)
    result = tuple(_one(chip, market, wish=wish) for chip in meant)
    return PricesOfNames(names=text, currency=wish.currency, chips=result, parts=parts, asked=asked)


def _parts(text: str) -> tuple[PartPrice, ...]:
    """Prices of memory, processors and the rest whose words hold all that was asked."""
    spoken = re.sub(
        r"(?<=[a-z0-9])(?=[\u4e00-\u9fff])|(?<=\d)(?=[gt]b?(?![a-z]))", " ", text.casefold()
    ).split()
    asked = {words_of("part").get(word, word) for word in spoken}

    def words(row: PartPrice) -> set[str]:
        given = f"{row.kind} {row.variant} {row.name}".casefold()
        return {*given.split(), *given.replace("-", " ").split()}

    return tuple(row for row in all_part_prices() if asked and asked <= words(row))


def _meant(text: str) -> tuple[Chip, ...]:
    """The chip a name means, or all it could mean."""
    try:
        return (match_chip(text).chip,)
    except AskError as unknown:
        chips = find_chips(text)
        if not chips:
            raise unknown from None
        return tuple(chips)


def _one(chip: Chip, market: Market, *, wish: PlanWish) -> ChipPrices:
    quote = market.quote(chip, guess=True)
    own = own_prices.in_force().get(chip.id, ())
    ours = [row for row in known_prices() if row.chip == chip.id and row.mem_bytes in {None, chip.mem_bytes}]
    own = tuple(price for price in own if price.kind != OWN_RENT)
    used = wish.used or chip.ended is not None
    counted = (
        newest_own(own, used=used)
        if own
        else newest_prices(chip, currency=wish.currency, used=wish.used or None)
    )
    offers = [offer for offer in market.offers.get(chip.id, ()) if offer.usd_per_h]
    return ChipPrices(
        chip=chip.id, name=chip.name, ended=chip.ended is not None,
        usd=None if quote is None else priced(quote, market.today),
        used=quote is not None and quote.used, why=_why(chip, quote, own=bool(own), counted=counted),
        rows=tuple(sorted([*own, *ours], key=lambda row: dated(row.as_of), reverse=True)),
        counted=tuple(counted), stale=quote is not None and is_stale(quote.as_of, market.today),
        rents=tuple(sorted(offers, key=lambda offer: (offer.usd_per_h or 0.0) / offer.n_chips)),
    )  # fmt: skip


def _why(chip: Chip, quote: Quote | None, *, own: bool, counted: Sequence[Price]) -> Sentence:
    """Why just this price is taken."""
    if quote is None or own:
        lacks = say("no price known: ranked last")
        return say("your own price takes precedence") if own else lacks
    if not counted:
        return say("no used price known: last new price, less yearly depreciation")
    kinds = {row.kind for row in counted}
    if kinds == {USED}:
        if chip.ended:
            return say("discontinued: used prices of the last half year")
        return say("used: used prices of the last half year")
    shops = say("new: shop and street prices of the last half year")
    return shops if kinds & set(NEW) else say("only the launch price is known")


def check(file: str | None = None) -> PriceList:
    """Judge a list, or the one that is kept: what cannot be used, what is old, what is far off."""
    path = own_prices.place() if file is None else Path(file)
    if file is None and not path.is_file():
        raise MissingError(
            say("no list imported yet"),
            hint=say("give a file, or import one: {command}", command="rigright prices import FILE"),
        )
    prices, flaws = own_prices.examine(path, today=today())
    every = (*flaws, *_far_off(prices))
    return PriceList(
        file=str(path), prices=prices, flaws=tuple(sorted(every, key=lambda flaw: flaw.line or 0))
    )


def _far_off(prices: Sequence[Price]) -> Iterator[Flaw]:
    """Prices that nobody would take for those of the card."""
    market = market_of(PlanWish(), day=today())
    for price in prices:
        known = market.cards.get(price.chip)
        if known is None or price.chip in market.own or price.kind == OWN_RENT:
            continue
        ratio = from_currency(price.typical, price.currency) / known.usd
        if not 1 / FAR_OFF <= ratio <= FAR_OFF:
            yield Flaw(
                line=None, wrong=False,
                said=say("{chip}: {ratio} times the known price of {date}", chip=by_id()[price.chip].name,
                         ratio=f"{ratio:.2g}", date=known.as_of),
            )  # fmt: skip


def keep(file: str) -> PriceList:
    """Keep a list, so that every verb takes its prices from now on."""
    judged = check(file)
    if any(flaw.wrong for flaw in judged.flaws):
        return judged
    if not judged.prices:
        raise DataError(say("{file} contains no prices", file=Path(file).name))
    count = own_prices.keep(judged.prices, today=today())
    return PriceList(
        file=judged.file, prices=judged.prices, flaws=judged.flaws, kept=count, place=str(own_prices.place())
    )


def forget() -> str:
    """Remove the list that is kept."""
    path = own_prices.place()
    if not path.is_file():
        raise MissingError(say("no list imported yet"))
    path.unlink()
    return str(path)
