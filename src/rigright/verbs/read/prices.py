"""Prices of a text held against dated ones: cards, processors, rented machines."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.errors import RigError
from rigright.base.money import USD, from_currency, show_money
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip
from rigright.facts.clouds import Offer, offers
from rigright.facts.cpus import CpuModel
from rigright.facts.prices import newest_prices, prices
from rigright.verbs.read.claims import claim_of
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.quantities import LEAST, MOST, Quantity
from rigright.verbs.read.record import DATED, RIGHT, UNKNOWN, WRONG, GuideClaim, Verdict
from rigright.verbs.read.subjects import CHIP, CPU, OFFER, Subject

CLOSE = 0.2  # how far a price may be off and still be that of today
LAUNCH_CLOSE = 0.08
ONCE = 2.5  # times the dearest, or under the cheapest that anybody asked: never true
_LAUNCH = ("launch", "msrp", "list price", "released at", "建议零售价", "首发", "发布价", "官方价", "上市价", "定价")
_BUDGET = ("budget", "预算", "充值", "余额", "支付")


def prices_in(passage: Passage) -> Iterator[GuideClaim]:
    """Every price of a passage that has an owner."""
    for quantity in passage.quantities:
        if quantity.unit != "money" or quantity.low <= 0:
            continue
        owner = _owner(passage, quantity)
        if owner is None:
            continue
        if any(word in f"{passage.topic} {passage.plain}" for word in _BUDGET) and not passage.topic:
            yield from _budget(passage, quantity, owner)
            continue
        claim = _judged(passage, quantity, owner)
        if claim is not None:
            yield claim


def _owner(passage: Passage, quantity: Quantity) -> Subject | None:
    kinds = {CHIP, CPU, OFFER}
    inside = [one for one in passage.subjects if one.kind in kinds]
    before = [one for one in inside if one.end <= quantity.start]
    above = [one for one in passage.above if one.kind in kinds]
    return (before[-1:] or inside[:1] or above[:1] or [None])[0]


def _usd(quantity: Quantity) -> tuple[float, float] | None:
    try:
        return from_currency(quantity.low, quantity.currency), from_currency(quantity.high, quantity.currency)
    except RigError:
        return None


def _budget(passage: Passage, quantity: Quantity, owner: Subject) -> Iterator[GuideClaim]:
    """Whether so much money buys what is recommended for it."""
    spread = _usd(quantity)
    known = [found for one in owner.records if isinstance(one, Chip) and (found := _today(one)) is not None]
    if spread is None or not known or quantity.bound == LEAST:
        return
    low = min(price for price, _, _, _ in known) * owner.count
    as_of = known[0][3]
    truth = say("{price} for the card ({month})", price=_money(low, quantity), month=as_of)
    verdict: Verdict = RIGHT if low <= spread[1] else DATED
    yield claim_of(passage, quantity.start, owner, kind="budget", verdict=verdict, truth=truth, command=_command(owner))


def _command(owner: Subject) -> str:
    if owner.kind == OFFER:
        return f"rigright look-up clouds {owner.name}"
    return f'rigright prices show "{owner.name.removeprefix("GeForce ")}"' if owner.kind == CHIP else f'rigright look-up cpus "{owner.name}"'


def _money(usd: float, quantity: Quantity) -> str:
    return show_money(usd, quantity.currency or USD)


def _today(chip: Chip) -> tuple[float, float, float, str] | None:
    """Typical, low, high and date of what a card goes for."""
    rows = newest_prices(chip)
    if not rows:
        return None
    row = rows[0]
    each = [from_currency(value, row.currency) for value in (row.typical, row.low or row.typical, row.high or row.typical)]
    return each[0], each[1], each[2], row.as_of


def _judged(passage: Passage, quantity: Quantity, owner: Subject) -> GuideClaim | None:
    spread = _usd(quantity)
    if spread is None:
        return None
    if quantity.per_hour:
        verdict, truth = _rented(spread, quantity, owner)
    elif owner.kind == CHIP:
        verdict, truth = _bought(spread, quantity, owner, passage)
    elif owner.kind == CPU:
        verdict, truth = _processor(spread, quantity, owner)
    else:
        return None
    return claim_of(passage, quantity.start, owner, kind="price", verdict=verdict, truth=truth, command=_command(owner))


def _covers(spread: tuple[float, float], low: float, high: float, *, close: float, bound: str) -> bool:
    if bound == MOST:
        return spread[1] * (1 + close) >= low
    if bound == LEAST:
        return spread[0] * (1 - close) <= high
    return spread[0] <= high * (1 + close) and spread[1] >= low * (1 - close)


def _bought(spread: tuple[float, float], quantity: Quantity, owner: Subject, passage: Passage) -> tuple[Verdict, Sentence]:
    chips = [one for one in owner.records if isinstance(one, Chip)]
    spreads = [spread]
    if owner.count > 1:  # of one, or of all
        of_one = (spread[0] / owner.count, spread[1] / owner.count)
        each = any(word in f"{passage.topic} {passage.plain}" for word in ("each", "每", "单价"))
        spreads = [spread] if each else [spread, of_one]
    asked = [price for chip in chips for price in prices() if price.chip == chip.id]
    usd = [from_currency(one.typical, one.currency) for one in asked]
    launch = [from_currency(one.typical, one.currency) for one in asked if one.kind == "launch"] or [
        chip.msrp_usd for chip in chips if chip.msrp_usd
    ]
    today = [found for chip in chips if (found := _today(chip)) is not None]
    is_launch = any(word in f"{passage.topic} {passage.plain}" for word in _LAUNCH)
    first = say("launched at {price}", price=_money(launch[0], quantity)) if launch else None
    now = say("{price} ({month})", price=_money(today[0][0], quantity), month=today[0][3]) if today else None
    truth = say("{launch}; today {now}", launch=first, now=now) if first and now else first or now
    if truth is None:
        return UNKNOWN, say("no price known")
    bound = quantity.bound
    at_launch = any(_covers(told, one, one, close=LAUNCH_CLOSE, bound=bound) for one in launch for told in spreads)
    if is_launch and launch:
        return (RIGHT if at_launch else WRONG), truth
    if any(_covers(told, low, high, close=CLOSE, bound=bound) for _, low, high, _ in today for told in spreads):
        return RIGHT, truth
    known = [*usd, *launch]
    once = any(min(known) / ONCE <= told[1] and told[0] <= max(known) * ONCE for told in spreads)
    return (DATED if at_launch or once else WRONG), truth


def _processor(spread: tuple[float, float], quantity: Quantity, owner: Subject) -> tuple[Verdict, Sentence]:
    cpu = owner.records[0]
    listed = cpu.list_price_usd if isinstance(cpu, CpuModel) else None
    street = cpu.street_price_usd if isinstance(cpu, CpuModel) else None
    if not isinstance(cpu, CpuModel) or (listed is None and street is None):
        return UNKNOWN, say("no price known")
    shown = [say("list price {price}", price=_money(listed, quantity))] if listed else []
    shown += [say("{price} ({month})", price=_money(street, quantity), month=cpu.street_as_of)] if street else []
    truth = shown[0] if len(shown) == 1 else say("{first}; today {now}", first=shown[0], now=shown[1])
    if any(_covers(spread, one, one, close=CLOSE, bound=quantity.bound) for one in (street, listed) if one):
        return RIGHT, truth
    dearest = max(one for one in (street, listed) if one)
    return (DATED if spread[0] <= dearest * ONCE else WRONG), truth  # a used one costs less


def _rented(spread: tuple[float, float], quantity: Quantity, owner: Subject) -> tuple[Verdict, Sentence]:
    one = owner.records[0]
    if isinstance(one, Offer):
        known = [(offer.usd_per_h, offer) for offer in offers() if offer.instance == one.instance and offer.usd_per_h]
    else:
        ids = {getattr(record, "id", "") for record in owner.records}
        known = [(offer.usd_per_chip_h, offer) for offer in offers() if offer.chip in ids and offer.usd_per_chip_h]
    rates = sorted((rate, offer.as_of or "") for rate, offer in known if rate)
    if not rates:
        return UNKNOWN, say("no price known")
    low, high = rates[0][0], rates[-1][0]
    truth = say(
        "{low} to {high} an hour ({month})", low=_money(low, quantity), high=_money(high, quantity), month=rates[0][1]
    )
    if _covers(spread, low, high, close=CLOSE / 2, bound=quantity.bound):
        return RIGHT, truth
    return (DATED if low / ONCE <= spread[1] and spread[0] <= high * ONCE else WRONG), truth
