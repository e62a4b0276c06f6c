"""Prices of a text held against dated ones: cards, processors, rented machines."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.errors import RigError
from rigright.base.money import USD, from_currency, show_money
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip
from rigright.facts.clouds import Offer, offers
from rigright.facts.cpus import CpuModel
from rigright.facts.prices import newest_prices, prices
from rigright.verbs.read.claims import claim_of
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import LEAST, MOST, StatedQuantity, words_for
from rigright.verbs.read.record import DATED, RIGHT, UNKNOWN, WRONG, ClaimVerdict, GuideClaim
from rigright.verbs.read.subjects import CHIP, CPU, OFFER, ClaimSubject

CLOSE = 0.2  # how far a price may be off and still be that of today
_LAUNCH_CLOSE, _RENT_CLOSE = 0.08, 0.1
TWICE = 2.0  # times its launch price that a card of which no price is known may cost
ONCE = 2.5  # times the dearest, or under the cheapest that anybody asked: never true


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPrice:
    """A price in US dollars as a text says it."""

    quantity: StatedQuantity
    owner: ClaimSubject
    low: float
    high: float
    context: str

    def shown(self, usd: float) -> str:
        """Another amount, in the currency of the text."""
        return show_money(usd, self.quantity.currency or USD)

    def covers(self, low: float, high: float, *, close: float) -> bool:
        """Whether it says something between two amounts; of several cards it may be that of one."""
        count = 1 if any(word in self.context for word in words_for("each price")) else self.owner.count
        for each in dict.fromkeys((1, count)):
            least, most = self.low / each, self.high / each
            if self.quantity.bound == MOST:
                least = 0.0
            if self.quantity.bound == LEAST:
                most = high
            if least <= high * (1 + close) and most >= low * (1 - close):
                return True
        return False

    def was_once(self, low: float, high: float) -> bool:
        """Whether it is anywhere near what anybody ever asked."""
        return self.covers(low / ONCE, high * ONCE, close=0.0)


def prices_in(passage: Passage) -> Iterator[GuideClaim]:
    """Every price of a passage that has an owner."""
    context = f"{passage.topic} {passage.plain}"
    budget = not passage.topic and any(word in context for word in words_for("budget"))
    for quantity in passage.quantities:
        owner = _owner_of(passage, quantity) if quantity.unit == "money" and quantity.low > 0 else None
        if owner is None:
            continue
        try:
            low, high = (from_currency(value, quantity.currency) for value in (quantity.low, quantity.high))
        except RigError:
            continue
        price = StatedPrice(quantity=quantity, owner=owner, low=low, high=high, context=context)
        verdict = _affordable(price) if budget else rented(price) if quantity.per_hour else bought(price)
        if verdict is not None:
            kind = "budget" if budget else "price"
            yield claim_of(passage, quantity.start, subject=owner, kind=kind, verdict=verdict)


def _owner_of(passage: Passage, quantity: StatedQuantity) -> ClaimSubject | None:
    """What a price is asked for: the thing before it, else the first of the sentence, else the one above."""
    inside = [subject for subject in passage.subjects if subject.kind in {CHIP, CPU, OFFER}]
    before = [subject for subject in inside if subject.end <= quantity.start]
    above = [subject for subject in passage.above if subject.kind in {CHIP, CPU, OFFER}]
    return next(iter(before[-1:] or inside or above), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardPrice:
    """What a card goes for, in US dollars."""

    typical: float
    low: float
    high: float
    as_of: str


def _todays(owner: ClaimSubject) -> list[CardPrice]:
    """The newest price of each card that a name may mean."""
    card_prices = []
    for chip in owner.records:
        rows = newest_prices(chip) if isinstance(chip, Chip) else ()
        for row in rows[:1]:
            typical = from_currency(row.typical, row.currency)
            low, high = (from_currency(value or row.typical, row.currency) for value in (row.low, row.high))
            card_prices.append(CardPrice(typical=typical, low=low, high=high, as_of=row.as_of))
    return card_prices


def _affordable(stated: StatedPrice) -> ClaimVerdict | None:
    """Whether so much money buys what is recommended for it."""
    known = _todays(stated.owner)
    if not known or stated.quantity.bound == LEAST:
        return None
    cheapest = min(known, key=lambda card_price: card_price.typical)
    price = cheapest.typical * stated.owner.count
    truth = say("{price} for the card ({month})", price=stated.shown(price), month=cheapest.as_of)
    return ClaimVerdict(
        verdict=RIGHT if price <= stated.high else DATED, truth=truth, command=shows(stated.owner)
    )


def shows(owner: ClaimSubject) -> str | None:
    """The command that shows prices of it."""
    return f'rigright prices show "{owner.name.removeprefix("GeForce ")}"' if owner.kind == CHIP else None


def bought(price: StatedPrice) -> ClaimVerdict | None:
    """A card or a processor that is bought."""
    if price.owner.kind == CPU:
        return processor(price)
    if price.owner.kind != CHIP:
        return None
    cards = [record for record in price.owner.records if isinstance(record, Chip)]
    asked = [item for chip in cards for item in prices() if item.chip == chip.id]
    launch = [from_currency(item.typical, item.currency) for item in asked if item.kind == "launch"]
    launch = launch or [chip.msrp_usd for chip in cards if chip.msrp_usd]
    today = _todays(price.owner)
    first = say("launched at {price}", price=price.shown(launch[0])) if launch else None
    now = (
        say("{price} ({month})", price=price.shown(today[0].typical), month=today[0].as_of) if today else None
    )
    truth = say("{launch}; today {now}", launch=first, now=now) if first and now else first or now
    if truth is None:
        return ClaimVerdict(verdict=UNKNOWN, truth=say("no price known"), command=shows(price.owner))
    at_launch = any(price.covers(value, value, close=_LAUNCH_CLOSE) for value in launch)
    ever = [*(from_currency(item.typical, item.currency) for item in asked), *launch]
    if launch and any(word in price.context for word in words_for("launch price")):
        verdict = RIGHT if at_launch else WRONG
    elif any(price.covers(card_price.low, card_price.high, close=CLOSE) for card_price in today):
        verdict = RIGHT
    elif not today and not at_launch:
        verdict = UNKNOWN if price.covers(max(launch) / TWICE, max(launch) * TWICE, close=0.0) else WRONG
        truth = say("{launch}; no price of today known", launch=truth)
    else:
        verdict = DATED if at_launch or price.was_once(min(ever), max(ever)) else WRONG
    return ClaimVerdict(verdict=verdict, truth=truth, command=shows(price.owner))


def processor(price: StatedPrice) -> ClaimVerdict:
    """A processor: its list price, and what shops ask."""
    cpu = price.owner.records[0]
    listed = cpu.list_price_usd if isinstance(cpu, CpuModel) else None
    street = cpu.street_price_usd if isinstance(cpu, CpuModel) else None
    known = [value for value in (street, listed) if value]
    if not known or not isinstance(cpu, CpuModel):
        return ClaimVerdict(verdict=UNKNOWN, truth=say("no price known"))
    shown: list[Sentence] = []
    if listed:
        shown.append(say("list price {price}", price=price.shown(listed)))
    if street:
        shown.append(say("{price} ({month})", price=price.shown(street), month=cpu.street_as_of))
    truth = shown[0] if len(shown) == 1 else say("{launch}; today {now}", launch=shown[0], now=shown[1])
    if any(price.covers(value, value, close=CLOSE) for value in known):
        return ClaimVerdict(verdict=RIGHT, truth=truth)
    used = price.low <= max(known) * ONCE  # a used one costs less
    return ClaimVerdict(verdict=DATED if used else WRONG, truth=truth)


def rented(price: StatedPrice) -> ClaimVerdict:
    """An hour of a machine, or of a card of one."""
    value = price.owner.records[0]
    if isinstance(value, Offer):
        known = [(offer.usd_per_h, offer) for offer in offers() if offer.instance == value.instance]
    else:
        ids = {getattr(record, "id", "") for record in price.owner.records}
        known = [(offer.usd_per_chip_h, offer) for offer in offers() if offer.chip in ids]
    rates = sorted((rate, offer.as_of or "") for rate, offer in known if rate)
    if not rates:
        return ClaimVerdict(verdict=UNKNOWN, truth=say("no price known"))
    low, high, month = rates[0][0], rates[-1][0], rates[0][1]
    truth = say(
        "{low} to {high} an hour ({month})", low=price.shown(low), high=price.shown(high), month=month
    )
    if price.shown(low) == price.shown(high):
        truth = say("{price} an hour ({month})", price=price.shown(low), month=month)
    close = price.covers(low, high, close=_RENT_CLOSE)
    return ClaimVerdict(
        verdict=RIGHT if close else DATED if price.was_once(low, high) else WRONG, truth=truth
    )
