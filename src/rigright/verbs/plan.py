"""A model, its work and the limits: which machine, laid out how, how fast, for how much."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from rigright.arch.count import active_params, params
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.money import CNY, USD, currency_of, from_currency, show_money
from rigright.base.record import replace
from rigright.base.words import Bilingual, Sentence, say, with_commas
from rigright.choice.work import seen_with
from rigright.demand import PlanWish, Serving, Training
from rigright.facts.chips import by_id
from rigright.facts.licences import licence_of
from rigright.money.tariff import local_tariff, tariff_of
from rigright.verbs.ordering import settled
from rigright.verbs.own import today
from rigright.verbs.planning.planned import Planned

MACHINES = 64  # that questions are about, whose markets are kept
MARKETS = 8  # of other days, currencies and price files, that are kept

if TYPE_CHECKING:
    from rigright.arch.record import Arch
    from rigright.facts.nodes import Node
    from rigright.search.market import Market
    from rigright.search.record import Plan, SearchResult
    from rigright.verbs.ordering import Orders


def plan(
    model: str | None = None, *, wish: PlanWish | None = None, why: bool = False, asked: str = ""
) -> Planned:
    """Plan machines for a model, or for the best that a budget runs; `asked` is the command to build on."""
    from rigright.cost.layers import generates
    from rigright.search.find import SERVED

    wish = settled(wish or PlanWish())
    if model is None:
        return _best_models(wish, why=why, asked=asked)
    arch, market, planned = _answered(model, wish, alone=False, asked=asked)
    named = wish.on is not None or wish.owned is not None
    serves = generates(arch) and planned.wish.work in SERVED
    if (serves and named) or planned.result.instead is not None:
        from rigright.verbs.planning.steps import instead_of, steps

        def ask(other: PlanWish) -> Planned:
            return _answered(model, other, alone=True)[2]

        more = steps(planned, arch=arch, market=market, ask=ask) if serves else ()
        planned = replace(planned, steps=more, elsewhere=instead_of(planned, ask=ask))
    if not why or planned.first is None:
        return planned
    from rigright.verbs.planning.reasons import reasons

    return replace(planned, why=reasons(arch, planned.first, wish=planned.wish, market=market))


def _best_models(wish: PlanWish, *, why: bool, asked: str) -> Planned:
    """The plan of the best model that the money runs, beside others that are faster or cheaper."""
    from rigright.facts import own_prices
    from rigright.search.find import SERVED
    from rigright.verbs.best_models import models_for

    named = wish.on if wish.on is not None else wish.owned
    if named is not None:
        raise AskError(
            say("name a model, or a budget without a machine"),
            hint=say("what a machine runs: {command}", command=shlex.join(["rigright", "fit", named])),
        )
    if wish.budget_usd is None or wish.work not in SERVED:
        raise AskError(
            say("name a model, or a budget to run models with"),
            hint=say("for example {example}", example="rigright plan --budget 5000usd"),
        )
    day = today()
    with own_prices.use(*own_prices.listed(wish.prices_file, today=day)):
        market = market_of(wish, day=day)
        models = models_for(wish, market=market, ask=partial(_searched, alone=True))
    planned = plan(models[0].model, wish=wish, why=why, asked=asked)
    return replace(planned, models=models)


def _answered(model: str, wish: PlanWish, *, alone: bool, asked: str = "") -> tuple[Arch, Market, Planned]:
    """The answer with its notes, but for what may be done next; `alone`: nor another machine instead."""
    from rigright.search.find import SERVED, TRAINED

    arch, market, planned = _searched(model, wish, alone=alone)
    answer, filled = planned.result, planned.wish
    planned = replace(
        planned,
        notes=(
            *_named(wish, market.there),
            *rate_notes(wish),
            *_tariff(wish, answer),
            *own_notes((plan.chip.id for plan in answer.plans if plan.supply.how == "buy"), market),
            *_unneeded(wish, answer),
            *answer.notes,
            *arch.warnings,
        ),
        seen_cards=0 if market.there is None else market.there.n_cards,
        asked=asked,
    )
    if filled.work in SERVED or filled.work in TRAINED:
        planned = replace(
            planned,
            notes=(*_open(arch, wish, planned=planned), *planned.notes),
            open_length=_open_length(arch, wish, first=planned.first),
        )
    return arch, market, planned


def plans(model: str, *, wish: PlanWish, beside: tuple[float, ...] = ()) -> Planned:
    """The plans alone, for who asks many questions: no notes, no next steps, no other machine instead.

    `beside`: users of the others that ask the same.
    """
    return _searched(model, settled(wish), alone=True, beside=beside)[2]


def _searched(
    model: str, wish: PlanWish, *, alone: bool, beside: tuple[float, ...] = (), most: int | None = None
) -> tuple[Arch, Market, Planned]:
    from rigright.facts import own_prices
    from rigright.search.find import find
    from rigright.verbs.planning.checks import check

    arch = arch_of(model, wish)
    day = today()
    with own_prices.use(*own_prices.listed(wish.prices_file, today=day)):
        check(arch, wish)
        market = market_of(wish, day=day)
        answer = find(arch, wish, market=market, alone=alone, beside=beside, most=most)
    planned = Planned(
        model=arch.name,
        params=params(arch),
        active_params=active_params(arch),
        licence=licence_of(arch.name),
        wish=understood(arch, wish, answer=answer),
        typed=wish,
        result=answer,
        today=day.isoformat(),
        model_asked=model,
    )
    return arch, market, planned


def _open(arch: Arch, wish: PlanWish, *, planned: Planned) -> Iterator[Sentence]:
    """Which input that nobody said decides most about the first plan."""
    from rigright.cost.layers import generates

    first = planned.plans[0] if planned.plans else None
    if first is None:
        return
    if isinstance(first.work, Training):
        if wish.seq_tok is None:
            from rigright.predict.trained_unsaid import length_decides

            yield from length_decides(arch, first.work, layout=first.layout, room_bytes=first.room_bytes)
    elif isinstance(first.work, Serving) and generates(arch):
        from rigright.search.record import case_of, traffic_of
        from rigright.verbs.serving.unsaid import LENGTHS, crowded, deciding

        load = traffic_of(first, planned.wish, arch=arch)
        unsaid = tuple(name for name in LENGTHS if getattr(wish, name) is None)
        case = case_of(arch, first)
        if _open_length(arch, wish, first=first):
            yield from crowded(case, users=wish.users)
        yield from deciding(case, unsaid=unsaid, traffic=load)


def _open_length(arch: Arch, wish: PlanWish, *, first: Plan | None) -> bool:
    """Whether the length stays unsaid in what is typed next: what hangs on it is then told there too."""
    if first is None or not arch.vocab:
        return False
    if isinstance(first.work, Training):
        from rigright.choice.training import seq_tok_of

        return wish.seq_tok is None and first.work.seq_tok == seq_tok_of(arch, wish.work)
    return wish.context_tok is not None and wish.prompt_tok is None  # requests may fill their context


def arch_of(model: str, wish: PlanWish) -> Arch:
    """The model; one that looks at images, for images of the size that was said."""
    arch = open_model(model)
    if wish.images is not None:
        return seen_with(arch, wish.images)
    if wish.picture is None or arch.task != "vision":
        return arch
    from rigright.verbs.serving.samples import resized

    return resized(arch, wish.picture)


def market_of(wish: PlanWish, *, day: date) -> Market:
    """The market of a day, the user's own prices before ours, with the machine that is on or owned."""
    from rigright.facts.own_prices import in_force
    from rigright.verbs.ordering import orders_for
    from rigright.verbs.seen.here import looked_at

    named = wish.on if wish.on is not None else wish.owned
    there = None if named is None else looked_at(named)
    own = tuple(in_force().items())
    return _market_at(
        there, day=day, currency=wish.currency, used=wish.used or None, own=own, orders=orders_for(wish)
    )


@lru_cache(maxsize=MACHINES)
def _market_at(
    there: Node | None, *, day: date, own: object, currency: str, used: bool | None, orders: Orders
) -> Market:
    """The same market for all who ask beside that machine: what it is asked is remembered with it."""
    market = _market(day, currency=currency, used=used, own=own)
    return replace(market, there=there, ordered=orders)


@lru_cache(maxsize=MARKETS)
def _market(day: date, *, own: object, currency: str, used: bool | None) -> Market:
    """What is asked on a day, once for all questions; `own`: the prices in force, which it reads."""
    from rigright.search.market import market_on

    del own
    return market_on(day, currency=currency, used=used)


def understood(arch: Arch, wish: PlanWish, *, answer: SearchResult) -> PlanWish:
    """The wish with what nobody said filled in, as the search did."""
    from rigright.search import find

    if answer.wish is not None:
        return answer.wish
    if find.takes_images(arch, wish):
        from rigright.search.images import filled as sampled

        return sampled(arch, wish)
    if wish.work in find.TRAINED:
        from rigright.search.training import filled as trained

        return trained(arch, wish)[0]
    return wish


def rate_notes(wish: PlanWish) -> tuple[Sentence, ...]:
    """The rate of the currency that amounts are read and shown in, and its date."""
    if wish.currency == USD:
        return ()
    known = currency_of(wish.currency)
    return (
        say(
            "{currency} at {rate} per dollar ({date})",
            currency=Bilingual(known.code, "元" if wish.currency == CNY else known.code),
            rate=f"{known.per_usd:g}",
            date=known.as_of,
        ),
    )


def _unneeded(wish: PlanWish, answer: SearchResult) -> Iterator[Sentence]:
    """What was said of more cards where those that are there are enough."""
    if not answer.plans or any(plan.supply.how != "own" for plan in answer.plans):
        return
    fields = {"buy": wish.buy is True, "rent": wish.buy is False, "spot": wish.spot, "used": wish.used,
            "cloud": bool(wish.clouds)}  # fmt: skip
    options = with_commas([say("{text}", text=f"--{name}") for name, is_said in fields.items() if is_said])
    if options is not None:
        yield say("{options}: not needed, your own cards are enough", options=options)


def own_notes(chips: Iterable[str], market: Market) -> tuple[Sentence, ...]:
    """Which cards have a price of the user's own."""
    named = sorted({by_id()[chip].name for chip in chips if chip in market.own})
    return (say("your own price: {names}", names=", ".join(named)),) if named else ()


def _tariff(wish: PlanWish, answer: SearchResult) -> tuple[Sentence, ...]:
    """Which tariff the name of a place stands for."""
    first = answer.plans[0] if answer.plans else answer.nearest
    if wish.place is None or first is None:
        return ()
    return tuple(tariff_notes(wish, first.chip.segment))


def tariff_notes(wish: PlanWish, segment: str) -> Iterator[Sentence]:
    """The price of a kWh at a place, its kind and date, and what was taken in its stead."""
    from rigright.facts.tariffs import HOME, find_place, places

    place, currency = wish.place or "", wish.currency
    pair = local_tariff(place, segment, customer=wish.customer)
    if pair is None:
        yield say("no tariff known for {place}: using {usd}/kWh", place=find_place(place).shown,
                  usd=show_money(tariff_of(segment, wished={}).usd_per_kwh, currency))  # fmt: skip
        return
    price, note = pair
    yield say(
        "power at {price}/kWh ({place}, {kind}, {date})",
        price=show_money(from_currency(price.value, price.currency or USD), currency),
        place=places()[price.place].shown,
        kind=say("household tariff") if price.kind in HOME else say("company tariff"),
        date=price.as_of,
    )
    if note is not None:
        yield note


def _named(wish: PlanWish, there: Node | None) -> tuple[Sentence, ...]:
    """What was assumed while the names of chips were read, and of a machine what was seen."""
    from rigright.facts.nodes import find_node

    machines = (wish.on, wish.owned) if there is None else ()
    values = [name for name in (*machines, *wish.chips) if name is not None]
    seen = () if there is None else there.notes
    return (*seen, *dict.fromkeys(note for name in values for note in find_node(name).notes))
