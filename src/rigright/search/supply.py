"""Where the chips of a layout come from: what is there, what is bought, what is rented, and at what price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from math import log2

import numpy as np

from rigright.arch import count
from rigright.base.record import dataclass, kept, replace
from rigright.cost.estimate import Estimate, added, scaled
from rigright.demand import Numbers, PlanWish
from rigright.facts.clouds import Offer
from rigright.facts.nodes import Card
from rigright.facts.prices import is_stale
from rigright.facts.units import devices_of, fills_boxes, sold_count
from rigright.money.machine_price import Stored, around_usd, stored_of
from rigright.money.prices import priced
from rigright.money.renting import SIZES, cheapest, chips_of, holds, price_of
from rigright.money.tariff import HOURS_PER_YEAR, NO_HOST
from rigright.search.market import Market, offers_of, rented_count
from rigright.search.question import Kind, Question
from rigright.search.record import Supply
from rigright.terms.memory import is_over

OWN, BUY, RENT = range(3)
HOWS = ("own", "buy", "rent")
LEASED = ("buy", "clouds", "spot", "currency")  # of a wish: what it is rented by
Machine = tuple[int, int, int, Stored | None]  # its kind, chips and ranks; what it stores where it is bought


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Each layout with each way to come by its chips."""

    index: Numbers  # the layout
    how: Numbers
    usd: Numbers  # to buy: cards and the rest of the machine; 0 where nothing is bought; nan unknown
    rent_usd_per_h: Numbers  # 0 where nothing is rented; nan unknown
    boxes: Numbers  # machines that hold the chips, as they are bought
    idle: Numbers  # chips of them that do not work

    def take(self, index: Numbers) -> Options:
        """Some of them."""
        return Options(
            index=self.index[index],
            how=self.how[index],
            usd=self.usd[index],
            rent_usd_per_h=self.rent_usd_per_h[index],
            boxes=self.boxes[index],
            idle=self.idle[index],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Tables of what kinds cost, by place of a number of chips; nan where no price is known."""

    counts: Numbers  # numbers of chips that may be asked for, rising
    owned: Numbers  # [kind]: chips that are there
    box: Numbers  # [kind]: chips that have to stand in one instance
    sold: Numbers  # [kind, place]: whether so many are sold, beside those that are there
    bought: Numbers  # [kind, place]: those that are there then: whole units of what is sold
    cards_usd: Numbers  # [kind, place]: cards alone
    rent_usd_per_h: Numbers  # [kind, size of a replica, place]
    machines: dict[Machine, tuple[int, float]] = field(default_factory=dict)  # priced so far


def prices_of(question: Question, *, asked: Iterable[int] = ()) -> Prices:
    """What its numbers of chips cost, and others that are asked for; on one market again it is known."""
    wish = PlanWish(**{name: getattr(question.wish, name) for name in LEASED})
    counts = {count for kind in question.kinds for count in (*kind.counts, kind.whole)}
    return _prices(question.market, question.kinds, counts=tuple(sorted(counts.union(asked))), wish=wish)


@kept
def _prices(market: Market, kinds: tuple[Kind, ...], *, counts: tuple[int, ...], wish: PlanWish) -> Prices:
    return Prices(
        counts=np.array(counts),
        owned=np.array([kind.owned for kind in kinds]),
        box=np.array([kind.per_node if kind.whole else 1 for kind in kinds]),
        sold=np.stack([_sold(market, kind, counts=counts) for kind in kinds]),
        bought=np.stack(
            [np.array(counts if kind.mix else [_bought(kind, count) for count in counts]) for kind in kinds]
        ),
        cards_usd=np.stack([_cards_usd(market, kind, counts=counts) for kind in kinds]),
        rent_usd_per_h=np.stack([_rent_usd_per_h(market, kind, wish=wish, counts=counts) for kind in kinds]),
    )


def options(
    question: Question, *, kind: Numbers, n_chips: Numbers, replica: Numbers, ranks: Numbers | None = None,
) -> Options:  # fmt: skip
    """Every way the wish allows; bought at an unknown price only where nothing better is known.

    `ranks` stand in one box where they can: those of a replica, if nothing else is said.
    """
    wish, boxed = question.wish, replica if ranks is None else ranks
    whole = np.array([item.whole for item in question.kinds])[kind]
    paid = np.where(whole > 0, whole, n_chips)
    prices = prices_of(question, asked=np.unique(paid).tolist())
    replica = np.where(np.log2(replica) % 1 == 0, replica, np.maximum(replica, n_chips))  # others straddle
    size = np.searchsorted(SIZES[:-1], np.maximum(replica, prices.box[kind]))
    place = np.searchsorted(prices.counts, paid)
    rented = prices.rent_usd_per_h[kind, size, place]
    bought = prices.cards_usd[kind, place]
    here = n_chips <= prices.owned[kind]
    rents = np.isfinite(rented) & (wish.buy is not True) & ~here
    only_rent = bool(wish.clouds) or wish.buy is False
    buys = ~here & (not only_rent) & prices.sold[kind, place] & (np.isfinite(bought) | ~rents)
    index = np.concatenate([np.flatnonzero(here), np.flatnonzero(buys), np.flatnonzero(rents)])
    how = np.repeat([OWN, BUY, RENT], [here.sum(), buys.sum(), rents.sum()])
    all_there = np.where(here, prices.owned[kind], prices.bought[kind, place])
    boxes, around = _machines(
        prices, question, kind=kind[index], paid=paid[index], ranks=boxed[index], how=how
    )
    return Options(
        index=index,
        how=how,
        usd=np.where(how == BUY, bought[index] + around, 0.0),
        rent_usd_per_h=np.where(how == RENT, rented[index], 0.0),
        boxes=boxes,
        idle=np.maximum(np.where(how == RENT, paid[index], all_there[index]) - n_chips[index], 0),
    )


def worked_h(wish: PlanWish) -> float:
    """The hours of work over the years."""
    return wish.years * HOURS_PER_YEAR * wish.duty


def needed_usd(wish: PlanWish, options: Options) -> Numbers:
    """What a budget has to cover: the machine, or all the hours of rent; power is paid by the month."""
    return np.where(options.how == BUY, options.usd, options.rent_usd_per_h * worked_h(wish))


def paid_for(question: Question) -> dict[int, Kind]:
    """By place: the kinds that its budget pays for, in such numbers; a machine costs this at least."""
    pairs = [(place, count) for place, kind in enumerate(question.kinds) for count in kind.counts]
    if not pairs:
        return {}
    place, count = np.array(pairs, dtype=int).reshape(-1, 2).T
    every = options(question, kind=place, n_chips=count, replica=np.ones_like(count))
    counts: dict[int, set[int]] = {}
    for index in every.index[needed_usd(question.wish, every) <= (question.wish.budget_usd or 0.0)]:
        counts.setdefault(int(place[index]), set()).add(int(count[index]))
    kinds = question.kinds
    return {place: replace(kinds[place], counts=tuple(sorted(counts[place]))) for place in sorted(counts)}


def in_reach(question: Question) -> Question:
    """The same without what no layout of it can keep its budget with; all of it where none was named."""
    if question.wish.budget_usd is None:
        return question
    kinds = paid_for(question)
    places = {place: rank for rank, place in enumerate(kinds)}

    def able(weights: str, place: int) -> bool:
        room = float("inf") if place in kinds and kinds[place].host else kinds[place].room_bytes
        return not is_over(question.arch, weights, room=room)

    held = [
        [place for place in way.kinds if place in kinds and able(way.weights, place)] for way in question.ways
    ]
    pairs = zip(question.ways, held, strict=True)
    ways = (replace(way, kinds=tuple(map(places.get, mine))) for way, mine in pairs if mine)
    return replace(question, kinds=tuple(kinds.values()), ways=tuple(ways))


def _machines(
    prices: Prices, question: Question, *, kind: Numbers, paid: Numbers, ranks: Numbers, how: Numbers
) -> tuple[Numbers, Numbers]:
    """How many machines hold the chips of each option, and what those that are bought cost."""
    asked = [np.asarray(item, dtype=int) for item in (kind, paid, ranks, how == BUY)]
    number = np.ravel_multi_index(asked, [int(item.max(initial=0)) + 1 for item in asked])
    _, places, place = np.unique(number, return_index=True, return_inverse=True)
    stored, values = _stored(question), np.zeros((len(places), 2))
    unlike = zip(*(item[places].tolist() for item in asked), strict=True)
    for row, (place_of, n_chips, value, buys) in enumerate(unlike):
        key = (place_of, n_chips, value, stored if buys else None)
        if key not in prices.machines:
            prices.machines[key] = _machine(question, place_of, n_chips=n_chips, ranks=value, buys=bool(buys))
        values[row] = prices.machines[key]
    boxes, usd = values[place.ravel()].T
    return boxes, usd


def _machine(question: Question, place: int, *, n_chips: int, ranks: int, buys: bool) -> tuple[int, float]:
    kind = question.kinds[place]
    boxes = boxes_of(kind, n_chips, ranks=ranks)
    return boxes, _around(question, kind, n_chips=n_chips, boxes=boxes).value if buys else 0.0


def _cards_usd(market: Market, kind: Kind, *, counts: tuple[int, ...]) -> Numbers:
    if kind.mix:  # unlike cards; unknown where one of them is
        known = [market.quote(card.chip, guess=True) for card in kind.mix]
        usd = 0.0 if kind.owned else sum(np.nan if price is None else price.usd for price in known)
        return np.full(len(counts), usd)
    price = market.quote(kind.chip, guess=kind.named)
    cards = np.array([_cards_bought(kind, count) for count in counts])
    beside = [market.quote(card.chip, guess=True) for card in kind.beside if kind.whole]  # all is paid
    others = sum(np.nan if quote is None else quote.usd for quote in beside)
    return cards * (np.nan if price is None else price.usd) + others


def _sold(market: Market, kind: Kind, *, counts: tuple[int, ...]) -> Numbers:
    """[place]: whether so many are sold, beside what is there; a machine that was named is sold with more.

    And whether they stand where they shall.
    """
    if kind.mix or kind.whole:
        return np.ones(len(counts), dtype=bool)

    def is_sold(count: int) -> bool:
        more = max(count - kind.owned, 0)
        if sold_count(kind.chip, more) != more or (kind.owned and not fills_boxes(kind.chip, count)):
            return False
        if not more:
            return True
        boxes = boxes_of(kind, count, ranks=1)
        return market.ordered is None or market.ordered.stands(
            ((kind.chip, -(-count // boxes)),), boxes=boxes
        )

    return np.array([is_sold(count) for count in counts])


def _bought(kind: Kind, n_chips: int) -> int:
    """Devices that are paid for: beside what is there, whole units."""
    return min(n_chips, kind.owned) + sold_count(kind.chip, max(n_chips - kind.owned, 0))


def _cards_bought(kind: Kind, n_chips: int) -> int:
    """Chips that are paid for, each of which may show as several devices."""
    return sold_count(kind.chip, max(n_chips - kind.owned, 0)) // devices_of(kind.chip)


def _around(question: Question, kind: Kind, *, n_chips: int, boxes: int) -> Estimate:
    """The machines around so many; what is there stands in some of them already."""
    more = boxes - -(-kind.owned // kind.per_node)
    if not n_chips or more <= 0:
        return NO_HOST
    if kind.mix:
        chips = tuple(Counter(card.chip for card in kind.mix).items())
    else:
        others = Counter(card.chip for card in kind.beside if kind.whole)
        chips = ((kind.chip, -(-_bought(kind, n_chips) // boxes)), *others.items())
    stored, market = _stored(question), question.market
    return around_usd(
        chips, boxes=more, today=market.today, host=kind.host, stored=stored, ordered=market.ordered
    )


def _stored(question: Question) -> Stored:
    """What the disks of its machines hold."""
    wish = question.wish
    return stored_of(float(count.params(question.arch)), work=wish.work, train_tok=wish.train_tok)


def _rent_usd_per_h(market: Market, kind: Kind, *, wish: PlanWish, counts: tuple[int, ...]) -> Numbers:
    """[size of a replica, place]: the cheapest way to rent so many; nan where nobody rents just them.

    A machine that was named is rented with more than it has, where it must be.
    """
    if kind.mix or (kind.beside and kind.whole):
        return np.full((len(SIZES), len(counts)), np.nan)
    table = np.full((len(SIZES), len(counts)), np.nan)
    for offer in _rents(market, kind, wish=wish):
        price = price_of(offer, spot=wish.spot) or np.nan
        cost = np.ceil(np.array(counts) / chips_of(offer)) * price
        if not kind.whole:
            rented = np.array([rented_count(offer, count) == count for count in counts])
            cost = np.where(rented, cost, np.nan)
        for place, size in enumerate(SIZES):
            if holds(offer, size):
                table[place] = np.fmin(table[place], cost)
    return table


def _rents(market: Market, kind: Kind, *, wish: PlanWish) -> Iterator[Offer]:
    """Offers of a kind, with the main memory that somebody spoke of.

    What an offer leaves unsaid is enough only for who wants to rent in any case.
    """
    host = kind.host
    least = 0.0 if host is None or "ram" in host.assumed else host.ram_bytes
    unsaid = wish.buy is False or bool(wish.clouds)
    for offer in offers_of(market, kind.chip.id, wish=wish):
        enough = unsaid if offer.ram_bytes is None else offer.ram_bytes >= least
        if enough or not least or offer.is_own:
            yield offer


def supply_of(
    question: Question, kind: Kind, *, how: int, n_chips: int, replica: int, ranks: int | None = None
) -> Supply:
    """One supply with its dates, bands and name; `ranks` as those of `options`."""
    number = replica if ranks is None else ranks
    replica = replica if log2(replica) % 1 == 0 else max(replica, n_chips)  # others straddle instances
    if kind.whole:
        n_chips, replica = kind.whole, max(replica, kind.per_node)
    boxes = boxes_of(kind, n_chips, ranks=number)
    if how == OWN:
        return Supply(how="own", label=_cards(kind, n_chips), n_units=boxes, usd=None,
                      usd_per_h=None, as_of=None, n_chips=n_chips)  # fmt: skip
    if how == RENT:
        return _rented(question, kind, n_chips=n_chips, replica=replica)
    if kind.mix:
        return _mixed(question, kind, cards=kind.mix)
    if kind.beside and kind.whole:
        return _mixed(question, kind, cards=(*(kind.card,) * kind.whole, *kind.beside))
    price = question.market.quote(kind.chip, guess=kind.named)
    paid = _bought(kind, n_chips)
    label = _cards(kind, paid)
    if price is None:
        return Supply(
            how="buy", label=label, n_units=boxes, usd=None, usd_per_h=None, as_of=None,
            n_chips=paid,
        )  # fmt: skip
    cards = _cards_bought(kind, n_chips)
    estimate = priced(price, question.market.today)
    return Supply(
        how="buy", label=label, n_units=boxes, usd=scaled(estimate, cards),
        host_usd=_around(question, kind, n_chips=n_chips, boxes=boxes), usd_per_h=None, as_of=price.as_of,
        used=price.used,
        stale=is_stale(price.as_of, question.market.today),
        n_chips=paid,
    )  # fmt: skip


def _mixed(question: Question, kind: Kind, *, cards: tuple[Card, ...]) -> Supply:
    """Unlike cards bought together, as old as the oldest of their prices; unknown where one is."""
    known = [question.market.quote(card.chip, guess=True) for card in cards]
    shown = Counter(card.chip.name for card in cards)
    prices = [price for price in known if price is not None]
    whole = len(prices) == len(known)
    oldest = min((price.as_of for price in prices), default=None) if whole else None
    today = question.market.today
    total = added([priced(price, today) for price in prices])
    return Supply(
        how="buy", label=" + ".join(f"{count}x {name}" for name, count in shown.items()), n_units=1,
        usd=total if whole else None,
        host_usd=_around(question, kind, n_chips=kind.whole, boxes=1) if whole else None,
        usd_per_h=None, as_of=oldest,
        used=any(price.used for price in prices), n_chips=len(cards),
        stale=oldest is not None and is_stale(oldest, today),
    )  # fmt: skip


def _rented(question: Question, kind: Kind, *, n_chips: int, replica: int) -> Supply:
    wish, market = question.wish, question.market
    rents = _rents(market, kind, wish=wish)
    just = rents if kind.whole else (offer for offer in rents if rented_count(offer, n_chips) == n_chips)
    lease = cheapest(just, n_chips, today=market.today, spot=wish.spot, replica=replica)
    if lease is None:
        raise LookupError(kind.chip.id)  # what nobody rents is no option
    return Supply(
        how="rent",
        label=lease.label,
        n_units=lease.machines,
        usd=None,
        usd_per_h=lease.usd_per_h,
        as_of=lease.offer.as_of,
        stale=is_stale(lease.offer.as_of, market.today),
        n_chips=lease.n_chips,
    )


def _cards(kind: Kind, n_chips: int) -> str:
    if kind.mix:
        return kind.chip.name
    return f"{n_chips}x {kind.chip.name}"


def boxes_of(kind: Kind, n_chips: int, *, ranks: int) -> int:
    """Boxes alike, as few as there can be, in each of which whole replicas stand; boards have one size."""
    fewest = -(-n_chips // kind.per_node)
    if kind.is_boxed:
        return fewest
    sizes = ((boxes, n_chips // boxes) for boxes in range(fewest, n_chips + 1) if n_chips % boxes == 0)
    return next((boxes for boxes, size in sizes if size % ranks == 0 or ranks % size == 0), fewest)


def nodes_of(kind: Kind, supply: Supply, *, n_chips: int, replica: int) -> int:
    """Machines that hold so many: the instances that are rented, else boxes of such chips."""
    if supply.how == HOWS[RENT] and not kind.whole:
        return supply.n_units
    return boxes_of(kind, n_chips, ranks=replica)
