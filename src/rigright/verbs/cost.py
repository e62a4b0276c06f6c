"""A machine for years: bought, rented or as an API; when buying has paid for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from math import isclose, isfinite
from typing import TYPE_CHECKING

from rigright.base.errors import AskError
from rigright.base.money import CNY, USD, show_money
from rigright.base.record import dataclass
from rigright.base.units import MEGA
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate, added, scaled
from rigright.cost.power import AT_REST, Busy, draw_w, machine_w, rented_w
from rigright.demand import CostWish, PlanWish
from rigright.facts.nodes import Node
from rigright.facts.prices import is_stale
from rigright.facts.tariffs import carbon_at, find_place
from rigright.facts.units import devices_of, sold_count
from rigright.money.lifetime import (
    FREE,
    HOURS_PER_MONTH,
    MONTHS_PER_YEAR,
    Ledger,
    Term,
    chance,
    payback,
    resale_of,
)
from rigright.money.machine_price import around_usd
from rigright.money.prices import DAYS_PER_YEAR, GUESSED, price_width, priced
from rigright.money.renting import Contract, Lease, cheapest, reserved
from rigright.money.tariff import SECONDS_PER_H, Tariff, power_usd_per_h, tariff_in
from rigright.terms.fitted import busy_in, power_terms
from rigright.verbs.costing import (
    API,
    BUY,
    OWN,
    RENT,
    REPLACE,
    RESERVED,
    SPOT,
    Asset,
    Costed,
    CostWay,
    Output,
    subject_of,
)
from rigright.verbs.ordering import orders_for
from rigright.verbs.own import today
from rigright.verbs.plan import market_of, own_notes, tariff_notes

if TYPE_CHECKING:
    from rigright.facts.chips import Chip
    from rigright.facts.clouds import Offer
    from rigright.search.market import Market
    from rigright.verbs.runs.planned import PlannedRun

ENDS = ("value", "low", "high")
MOST_TERMS = 100  # machines one after another
USUAL_PROMPT = 4.0  # prompt tokens for each output token, where nobody says


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """A machine with its price, its draw, and what it loses."""

    cards: Estimate
    host: Estimate
    n_chips: int  # that are paid for: cards are sold in units
    segment: str
    used: bool
    as_of: str

    @property
    def usd(self) -> Estimate:
        """All of it."""
        return added([self.cards, self.host])

    def resale(self, years: float) -> Estimate:
        """What it brings after so many years."""
        cards = resale_of(self.cards, years, segment=self.segment, used=self.used)
        return added([cards, resale_of(self.host, years, segment="host")])


def cost(
    what: str | PlannedRun, *, wish: PlanWish | None = None, spend: CostWish | None = None,
    model: str | None = None, asked: str = "",
) -> Costed:  # fmt: skip
    """Cost a machine ("2x rtx 4090"), a model's plan ("llama-3.1-8b"), or what `plan --json` printed."""
    spend = spend or CostWish()
    day = today()
    subject = subject_of(what, wish=wish or PlanWish(), model=model)
    wish = subject.wish
    market = market_of(replace(wish, on=None), day=day)
    market = replace(market, ordered=orders_for(wish, named=True))
    chip = subject.node.cards[0].chip
    tariff = tariff_in(wish, chip.segment)
    if spend.cooling is not None:
        tariff = replace(tariff, pue=1 + spend.cooling)
    duty = _duty(subject, wish=wish, spend=spend)
    wish, tariff = replace(wish, duty=duty), replace(tariff, duty=duty)
    power, idle = drawn(subject, rented=wish.buy is False and not subject.is_there)
    idle = 0.0 if spend.hours is not None else idle
    bought = _bought(subject, market)
    running = _monthly(power, idle, tariff=tariff)
    months = wish.years * MONTHS_PER_YEAR
    ways: list[CostWay] = []
    if subject.is_there:
        ways.append(_kept(bought, running, wish=wish, spend=spend))
    elif bought is not None and wish.buy is not False:
        ways += _owned(bought, running, wish=wish, spend=spend, market=market)
    output = _output(subject, spend=spend, duty=duty)
    if wish.buy is not True:
        ways += _rented(subject, market=market, wish=wish, duty=duty)
        ways += _served(output, spend=spend, months=months)
    if not ways:
        raise _nobody_sells(subject.node, wish)
    return Costed(
        machine=subject.node.shown, n_chips=subject.node.n_cards,
        n_paid=subject.node.n_cards if bought is None else bought.n_chips,
        boxes=subject.node.n_nodes, wish=wish,
        spend=spend,
        cost_ways=_with_payback(ways, months=months), cards_usd=None if bought is None else bought.cards,
        host_usd=None if bought is None else bought.host,
        used=bool(bought and bought.used), power_w=power, idle_w=idle, duty=duty, tariff=tariff,
        carbon=None if wish.place is None else carbon_at(find_place(wish.place)),
        output=output, notes=tuple(dict.fromkeys(_notes(subject, wish, bought=bought, market=market))),
        asked=asked, missed=subject.missed,
        worth_usd=() if bought is None else tuple(bought.resale(year) for year in range(int(wish.years) + 1)),
    )  # fmt: skip


def _nobody_sells(node: Node, wish: PlanWish) -> AskError:
    if wish.buy is False:
        return AskError(
            say("no known cloud rents out {machine}", machine=node.shown),
            hint=say("remove {option}, or choose another cloud", option="--rent"),
        )
    return AskError(
        say("no price known for {machine}", machine=node.shown),
        hint=say("give yours: {option}", option="--prices FILE.csv"),
    )


def _notes(subject: Asset, wish: PlanWish, *, bought: Bought | None, market: Market) -> Iterator[Sentence]:
    """What was assumed, whose prices were taken, and what a kWh costs."""
    yield from subject.notes
    yield from subject.node.notes
    if subject.is_there and bought is not None:
        usd = bought.resale(0.0).value
        yield say("it would sell for about {usd} today", usd=show_money(usd, wish.currency))
    quotes = (market.quote(card.chip, guess=True) for card in subject.node.cards)
    if any(quote is not None and quote.mark == GUESSED for quote in quotes):
        yield say("no used price known: last new price, depreciated")
    if not drawn(subject)[0].value:
        yield say("not counted: power (power draw of {machine} unknown)", machine=subject.node.shown)
    yield from own_notes((card.chip.id for card in subject.node.cards), market)
    if bought is not None and bought.n_chips > subject.node.n_cards and not subject.is_there:
        yield say("sold in boards: {paid} GPUs are bought, {count} are used",
                  paid=bought.n_chips, count=subject.node.n_cards)  # fmt: skip
    if wish.place is not None:
        yield from tariff_notes(wish, subject.node.cards[0].chip.segment)


def _duty(subject: Asset, *, wish: PlanWish, spend: CostWish) -> float:
    """The share of the time it works: as it was said, or as the tokens that are wanted take."""
    if spend.hours is not None:
        return min(spend.hours / (HOURS_PER_MONTH * MONTHS_PER_YEAR * wish.years), 1.0)
    made = subject.output_tok_per_s
    if spend.mtok_per_month is None or not made:
        return wish.duty
    most = made * SECONDS_PER_H * HOURS_PER_MONTH / MEGA
    if spend.mtok_per_month > most * 1.0001:
        raise AskError(
            say("{machine} produces at most {most} million output tokens per month; asked for {asked}",
                machine=subject.node.shown, most=f"{most:,.0f}", asked=f"{spend.mtok_per_month:,.12g}"),
            hint=say("use more of them, or lower {option}", option="--mtok"),
        )  # fmt: skip
    return min(spend.mtok_per_month / most, 1.0)


def drawn(subject: Asset, *, rented: bool = False) -> tuple[Estimate, float]:
    """Watts at the wall while it works and while it waits; none where nobody says what it is rated.

    At work as the plan of a model counts them; where no model is named, as a busy service draws.
    """
    node = subject.node
    cards = Counter(card.chip for card in node.cards)
    boxes = [node.n_nodes, *[0] * (len(cards) - 1)]

    def watts(busy: Busy) -> Estimate:
        each = []
        for (chip, each_box), number in zip(cards.items(), boxes, strict=True):
            power, count = power_terms([chip]), each_box * node.n_nodes
            draw = draw_w(power, busy)
            idle = 0 if node.is_mixed else sold_count(chip, count) - count
            if rented:
                each.append(rented_w(power, draw, count=count, idle=idle))
            else:
                each.append(machine_w(power, draw, count=count, idle=idle, boxes=number))
        value, low, high = (
            sum(float(getattr(item, end)[0]) for item in each) for end in ("value", "low", "high")
        )
        return Estimate(value=value, low=low, high=high)

    power = subject.power_w or watts(busy_in("serve"))
    rest = watts(AT_REST).value
    return (power, min(rest, power.value)) if isfinite(power.value) else (FREE, 0.0)


def _bought(subject: Asset, market: Market) -> Bought | None:
    """What its cards, as many as are sold, and the machines around them cost; None: a price is unknown."""
    node, today = subject.node, market.today
    paid: dict[Chip, int] = {}
    for chip, count in Counter(card.chip for card in node.cards).items():
        paid[chip] = count * node.n_nodes if node.is_mixed else sold_count(chip, count * node.n_nodes)
    quotes = {chip: market.quote(chip, guess=True) for chip in paid}
    known = [quote for quote in quotes.values() if quote is not None]
    ours = [
        scaled(priced(quote, today), paid[chip] / devices_of(chip))
        for chip, quote in quotes.items() if quote is not None
    ]  # fmt: skip
    cards = _sourced(subject.cards_usd, added(ours) if len(ours) == len(paid) else None)
    if cards is None:
        return None
    around = around_usd(
        tuple((item, -(-count // node.n_nodes)) for item, count in paid.items()),
        boxes=node.n_nodes, today=today, host=node.host, stored=subject.stored, ordered=market.ordered,
    )  # fmt: skip
    chip = node.cards[0].chip
    return Bought(
        cards=cards,
        host=_sourced(subject.host_usd, around) or around,
        n_chips=sum(paid.values()),
        segment="soc" if chip.unified_memory else chip.segment,
        used=subject.used if subject.cards_usd else any(quote.used for quote in known),
        as_of=min([quote.as_of for quote in known] or [cards.as_of or today.isoformat()]),
    )  # fmt: skip


def _sourced(planned: Estimate | None, ours: Estimate | None) -> Estimate | None:
    """The price that a plan has; with our sources where it is the same, for a file holds none."""
    if planned is None or ours is None:
        return planned or ours
    return ours if all(isclose(getattr(planned, end), getattr(ours, end)) for end in ENDS) else planned


def _monthly(power: Estimate, idle: float, *, tariff: Tariff) -> dict[str, Estimate]:
    """Power for a month, at work and waiting."""
    worked, waited = HOURS_PER_MONTH * tariff.duty, HOURS_PER_MONTH * (1 - tariff.duty)
    resting = Estimate(value=idle, low=idle, high=idle)
    estimates = {"power": scaled(power, power_usd_per_h(1.0, tariff) * worked)}
    return estimates | ({"idle": scaled(resting, power_usd_per_h(1.0, tariff) * waited)} if waited else {})


def _month(bought: Bought | None, running: Mapping[str, Estimate], *, spend: CostWish) -> dict[str, Estimate]:
    """All that a month of an own machine costs."""
    price = FREE if bought is None else bought.usd
    estimates = {
        "upkeep": scaled(price, spend.upkeep / MONTHS_PER_YEAR),
        "space": _exact(spend.space_usd), "people": _exact(spend.people_usd),
    }  # fmt: skip
    return dict(running) | {name: estimate for name, estimate in estimates.items() if estimate.value}


def _kept(
    bought: Bought | None, running: Mapping[str, Estimate], *, wish: PlanWish, spend: CostWish
) -> CostWay:
    """A machine that is there and stays: nothing is paid for it, and nothing comes back."""
    term = Term(start=0.0, monthly=_month(bought, running, spend=spend))
    return CostWay(kind=OWN, label="", ledger=Ledger(terms=(term,), months=wish.years * MONTHS_PER_YEAR))


def _owned(
    bought: Bought, running: Mapping[str, Estimate], *, wish: PlanWish, spend: CostWish, market: Market
) -> Iterator[CostWay]:
    """Bought and kept, and, where somebody says when, bought and replaced."""

    def way(kind: str, *terms: Term) -> CostWay:
        replaced = kind == REPLACE
        return CostWay(
            kind=kind, label=(spend.then or "") if replaced else "", years=after if replaced else None,
            ledger=Ledger(terms=terms, months=months), as_of=bought.as_of,
            stale=is_stale(bought.as_of, market.today),
        )  # fmt: skip

    months, after = wish.years * MONTHS_PER_YEAR, spend.after_years
    kept = Term(
        start=0.0,
        upfront=bought.usd,
        monthly=_month(bought, running, spend=spend),
        resale=bought.resale(wish.years),
    )
    yield way(BUY, kept)
    if after is None:
        return
    if after >= wish.years:
        raise AskError(
            say(
                "--after {after} is not before the end of {years} years",
                after=f"{after:g}",
                years=f"{wish.years:g}",
            ),
            hint=say("choose a smaller --after or a larger --years"),
        )
    other, draws = bought, running
    if spend.then is not None:
        other, draws = _successor(spend.then, wish=wish, market=market)
    if wish.years / after > MOST_TERMS:
        raise AskError(
            say("--after {after} replaces the machine {count} times", after=f"{after:g}",
                count=f"{wish.years / after:,.0f}"),
            hint=say("choose a larger --after or a smaller --years"),
        )  # fmt: skip
    # nobody knows what is asked then: as much as today, as unsure as a price of that age
    terms, start = list[Term](), 0.0
    while start < wish.years - 1e-9:
        item, drawn_by = (bought, running) if not start else (other, draws)
        end = min(start + after, wish.years) if not start or spend.then is None else wish.years
        then = market.today + timedelta(days=start * DAYS_PER_YEAR)
        width, usd = price_width(item.as_of, then, used=item.used), item.usd
        price = Estimate(
            value=usd.value, low=min(usd.low, usd.value * (1 - width)),
            high=max(usd.high, usd.value * (1 + width)),
        )  # fmt: skip
        terms.append(
            Term(start=start * MONTHS_PER_YEAR, upfront=price if start else usd,
                 monthly=_month(item, drawn_by, spend=spend), resale=item.resale(end - start))
        )  # fmt: skip
        start = end
    yield way(REPLACE, *terms)


def _successor(name: str, *, wish: PlanWish, market: Market) -> tuple[Bought, dict[str, Estimate]]:
    """The machine that comes next, and its power."""
    from rigright.facts.nodes import find_node

    node = find_node(name)
    subject = Asset(node=node, wish=wish)
    bought = _bought(subject, market)
    if bought is None:
        raise _nobody_sells(node, replace(wish, buy=None))
    power, idle = drawn(subject)
    return bought, _monthly(power, idle, tariff=tariff_in(wish, node.cards[0].chip.segment))


def _exact(usd: float) -> Estimate:
    return Estimate(value=usd, low=usd, high=usd, mark="stated") if usd else FREE


def _rented(subject: Asset, *, market: Market, wish: PlanWish, duty: float) -> Iterator[CostWay]:
    """By the hour, at spot prices, and by contract; a price of a cloud has power and building in it."""
    from rigright.search.market import offers_of

    node, months = subject.node, wish.years * MONTHS_PER_YEAR
    if node.is_mixed:
        return
    wished = replace(wish, clouds=wish.clouds or subject.clouds)
    abroad = replace(wished, currency=USD if wish.currency == CNY else CNY)

    def able(*, spot: bool) -> tuple[Offer, ...]:
        """What is rented out at home, else abroad."""
        offers = (offers_of(market, chip.id, wish=replace(item, spot=spot)) for item in (wished, abroad))
        return next(filter(None, offers), ())

    chip, replica = node.cards[0].chip, len(node.cards)

    def way(kind: str, lease: Lease, *, contract: Contract | None = None) -> CostWay:
        paid = lease.usd_per_h
        if contract is not None:
            paid = Estimate(
                value=paid.value * contract.share, low=paid.low * contract.share_low,
                high=paid.high * contract.share_high, mark="stated", as_of=paid.as_of,
            )  # fmt: skip
        # a contract is paid whether the machine works or not
        rent = scaled(paid, HOURS_PER_MONTH * (duty if contract is None else 1.0))
        return CostWay(
            kind=kind, label=lease.offer.provider if lease.offer.most_chips else lease.label,
            years=None if contract is None else contract.years,
            as_of=paid.as_of, stale=is_stale(paid.as_of, market.today), currency=lease.offer.currency,
            source=lease.usd_per_h.why if contract is None else contract.source,
            ledger=Ledger(terms=(Term(start=0.0, monthly={"rent": rent}),), months=months),
        )  # fmt: skip

    for kind, spot in ((RENT, False), (SPOT, True)):
        if spot or not wish.spot:
            lease = cheapest(able(spot=spot), node.n_cards, today=market.today, spot=spot, replica=replica)
            if lease is not None:
                yield way(kind, lease)
    if not wish.spot:
        pairs = reserved(
            able(spot=False), node.n_cards, today=market.today, years=wish.years, replica=replica
        )
        for contract, lease in pairs:
            yield way(RESERVED, lease, contract=contract)


def _output(subject: Asset, *, spend: CostWish, duty: float) -> Output | None:
    """Tokens of a month: those that are wanted, or all that it makes while it works."""
    made = None
    if subject.output_tok_per_s:
        made = subject.output_tok_per_s * SECONDS_PER_H * HOURS_PER_MONTH * duty
    elif spend.mtok_per_month is not None:
        made = spend.mtok_per_month * MEGA
    if made is None and subject.run_h is None and not subject.unit:
        return None
    ratio = USUAL_PROMPT
    if subject.output_tok_per_s:
        ratio = subject.prompt_tok_per_s / subject.output_tok_per_s
    return Output(
        model=subject.model or "", output_tok=made, prompt_tok=None if made is None else made * ratio,
        run_h=subject.run_h, unit=subject.unit,
        units=subject.units_per_h * HOURS_PER_MONTH * duty if subject.unit else None,
    )  # fmt: skip


def _served(output: Output | None, *, spend: CostWish, months: float) -> Iterator[CostWay]:
    """By an API, token by token."""
    if not spend.api_usd_per_mtok:
        return
    if output is None or not output.output_tok:
        raise AskError(
            say("an API is billed per token, but no number of tokens is given"),
            hint=say("add --for MODEL, or --mtok N (million output tokens per month)"),
        )
    prompt, written = spend.api_usd_per_mtok
    usd = ((output.prompt_tok or 0.0) * prompt + output.output_tok * written) / MEGA
    ledger = Ledger(terms=(Term(start=0.0, monthly={"tokens": _exact(usd)}),), months=months)
    yield CostWay(kind=API, label="", ledger=ledger)


def _with_payback(ways: list[CostWay], *, months: float) -> tuple[CostWay, ...]:
    """Each way that is not bought, with when buying has paid for itself against it."""
    own = next((way for way in ways if way.kind in {OWN, BUY}), None)
    if own is None:
        return tuple(ways)
    (term,) = own.ledger.terms
    cost_ways = []
    for way in ways:
        if way.kind in {OWN, BUY, REPLACE}:
            cost_ways.append(way)
            continue
        other = added(list(way.ledger.terms[0].monthly.values()))
        if own.kind == OWN:
            cost_ways.append(replace(way, buy_is_cheaper=chance(own.ledger, way.ledger)))
            continue
        paid = payback(term.upfront, own=added(list(term.monthly.values())), other=other, months=months)
        cost_ways.append(replace(way, payback=paid, buy_is_cheaper=chance(own.ledger, way.ledger)))
    return tuple(cost_ways)
