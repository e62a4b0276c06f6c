"""Chips, machines or clouds side by side for one work: each takes it as well as it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rigright.arch.sources.open import open_model
from rigright.base.words import Sentence
from rigright.demand import PlanWish, Serving
from rigright.report.compared import Compared, Contender, winners
from rigright.verbs.clock import today

if TYPE_CHECKING:
    from rigright.arch.record import Arch
    from rigright.verbs.comparing.things import Thing


def compare(things: Sequence[str], *, model: str, wish: PlanWish | None = None, asked: str = "") -> Compared:
    """Compare things for a model's work; `asked` is the command to build on."""
    from rigright.search.market import market_on
    from rigright.search.serving import filled
    from rigright.verbs.comparing.things import read_things
    from rigright.verbs.planning.checks import SERVING, check
    from rigright.verbs.planning.prices import own_prices

    wish = wish or PlanWish()
    arch = open_model(model)
    check(arch, wish)
    day = today()
    own = own_prices(wish.prices_file, today=day) if wish.prices_file is not None else ()
    read = read_things(tuple(things), wish=wish, market=market_on(day, own=own))
    contenders = tuple(_contender(arch, thing) for thing in read)
    shown, assumed = filled(arch, wish) if wish.work in SERVING else (wish, ())
    notes: tuple[Sentence, ...] = (
        *(note for thing in read for note in thing.notes),
        *assumed,
        *arch.warnings,
    )
    return Compared(
        model=arch.name,
        wish=shown,
        contenders=contenders,
        notes=tuple(dict.fromkeys(notes)),
        asked=asked,
        model_asked=model,
        wins=winners(contenders),
    )


def _contender(arch: Arch, thing: Thing) -> Contender:
    """One thing at its best, with as few cards as will do where only their name was said."""
    from rigright.search.find import find

    for most in thing.counts:
        wish = thing.wish if most is None else replace(thing.wish, most_chips=most)
        found = find(arch, wish, market=thing.market)
        if found.plans:
            break
    plan = found.plans[0] if found.plans else found.nearest
    if plan is None or not isinstance(plan.work, Serving):
        return Contender(asked=thing.asked, plan=plan, fits=bool(found.plans), broken=found.broken)
    from rigright.search.serving import filled
    from rigright.verbs.comparing.roof import roof_of
    from rigright.verbs.planning.reasons import case_of, traffic_of
    from rigright.verbs.serving.speed import speed

    load = traffic_of(plan, filled(arch, thing.wish)[0])
    timed = speed(case_of(arch, plan), plan.memory[0], traffic=load)
    return Contender(
        asked=thing.asked,
        plan=plan,
        fits=bool(found.plans),
        broken=found.broken,
        speed=timed,
        roof=roof_of(arch, plan, speed=timed),
    )
