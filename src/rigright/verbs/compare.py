"""Chips, machines or clouds side by side for one work: each takes it as well as it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rigright.base.errors import AskError
from rigright.base.words import assuming, say
from rigright.choice.work import AUTO, side_by_side
from rigright.cost.estimate import scaled
from rigright.cost.layers import generates
from rigright.demand import PlanWish, Serving
from rigright.money.lifetime import HOURS_PER_MONTH, MONTHS_PER_YEAR, Payback, payback
from rigright.money.tariff import power_usd_per_h, tariff_in
from rigright.search.find import takes_images
from rigright.verbs.clock import today
from rigright.verbs.comparing.compared import Compared, Contender
from rigright.verbs.ordering import orders_for
from rigright.verbs.plan import arch_of, market_of, understood
from rigright.verbs.wished import things_for

if TYPE_CHECKING:
    from rigright.arch.record import Arch
    from rigright.search.record import SearchResult
    from rigright.verbs.comparing.things import Thing


RATES = ("output_tok_per_s", "train_tok_per_s", "images_per_s", "texts_per_s")
ALIKE = 1.25  # figures that differ less are of the same work


def compare(
    things: Sequence[str], *, model: str | None = None, wish: PlanWish | None = None, asked: str = ""
) -> Compared:
    """Compare machines for a model's work, or engines, formats and methods on the machine `wish` is on.

    Without a model the things are models. `asked` is the command to build on.
    """
    from rigright.verbs.comparing.alike import alike
    from rigright.verbs.comparing.things import read_things
    from rigright.verbs.planning.checks import check

    wish = wish or PlanWish()
    shared = None if model is None else arch_of(model, wish)
    if wish.on is None:
        things, wish = things_for(things, wish), replace(wish, power_w=None)
    market = replace(market_of(wish, day=today()), ordered=orders_for(wish, named=True))
    read = read_things(tuple(things), arch=shared, wish=wish, market=market)
    archs = [own for thing in read if (own := thing.arch or shared) is not None]
    for thing, own in zip(read, archs, strict=True):
        check(own, thing.wish)
    arch, wish = archs[0], replace(wish, work=read[0].wish.work)
    other = next((own.name for own in archs if generates(own) != generates(arch)), None)
    if other is not None:
        raise AskError(say("{first} and {second} do different work", first=arch.name, second=other))
    item = side_by_side(
        arch,
        wish,
        machines=[thing.chips for thing in read],
        named=all(thing.whole and not thing.label for thing in read),
    )
    read = tuple(replace(thing, wish=replace(thing.wish, work=item.work, users=item.users)) for thing in read)
    read, answers, unlike = alike(arch, read)
    rows = zip(archs, read, answers, strict=True)
    contenders = tuple(_contender(own, thing, answer=answer) for own, thing, answer in rows)
    sentences = (note for thing in read for note in thing.notes)
    chat = (assuming(say("chat")),) if (wish.work, item.work) == (AUTO, "chat") else ()
    assumed = (*unlike, *chat)
    return Compared(
        model=", ".join(dict.fromkeys(own.name for own in archs)),
        wish=understood(arch, wish, answer=answers[0]),
        contenders=contenders,
        notes=tuple(dict.fromkeys((*sentences, *assumed, *(note for own in archs for note in own.warnings)))),
        asked=asked,
        model_asked=model or "",
        payback=_payback(contenders, wish),
    )


def _payback(contenders: Sequence[Contender], wish: PlanWish) -> tuple[int, Payback] | None:
    """Of two that do the same, one bought and one rented: when buying has paid for itself."""
    able = [(place, item.plan) for place, item in enumerate(contenders) if item.plan and item.fits]
    if [plan.supply.how for _, plan in sorted(able, key=lambda row: row[1].supply.how)] != ["buy", "rent"]:
        return None
    (place, own), (_, rent) = sorted(able, key=lambda row: row[1].supply.how)
    price, hour, watts = own.figures.get("usd"), rent.figures.get("usd_per_h"), own.figures.get("power_w")
    rates = [plan.figures[name].value for plan in (own, rent) for name in RATES if name in plan.figures]
    if not rates or max(rates) > min(rates) * ALIKE or price is None or hour is None or watts is None:
        return None  # they do not the same, or a price is not known
    hours = HOURS_PER_MONTH * wish.duty
    power = scaled(watts, float(power_usd_per_h(1.0, tariff_in(wish, own.chip.segment))) * hours)
    paid = payback(price, own=power, other=scaled(hour, hours), months=wish.years * MONTHS_PER_YEAR)
    return place, paid


def _contender(arch: Arch, thing: Thing, *, answer: SearchResult) -> Contender:
    """One thing at its best."""
    plan = answer.plans[0] if answer.plans else answer.nearest
    timed = roof = None
    if plan is not None and isinstance(plan.work, Serving) and not takes_images(arch, thing.wish):
        from rigright.predict.speed import speed
        from rigright.search.planned_case import case_of, traffic_of
        from rigright.verbs.comparing.roof import roof_of

        load = traffic_of(plan, understood(arch, thing.wish, answer=answer), arch=arch)
        timed = speed(case_of(arch, plan), traffic=load)
        roof = roof_of(arch, plan, speed=timed)
    return Contender(
        asked=thing.asked,
        label=thing.label,
        model=arch.name,
        plan=plan,
        fits=bool(answer.plans),
        broken=answer.broken,
        speed=timed,
        roof=roof,
    )
