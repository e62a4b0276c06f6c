"""What to add to a machine with no room for a model, or slow with it: memory, cards, or a rented one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from rigright.arch.record import Arch
from rigright.base.errors import RigError
from rigright.base.units import from_gib, to_gib
from rigright.base.words import say
from rigright.choice.offload import can_offload, least_offload
from rigright.choice.ways import FOUR_BITS, Site, ways_on
from rigright.choice.work import USUAL_TOK_PER_S, spoken
from rigright.cost.estimate import scaled
from rigright.demand import PlanWish, Serving
from rigright.facts.clouds import cloud_shown
from rigright.facts.host_words import RAM_GIB, find_host
from rigright.facts.nodes import Node, find_node
from rigright.money.prices import priced, ram_usd
from rigright.search.find import find
from rigright.search.market import Market
from rigright.search.named import machine_flag
from rigright.search.record import Plan
from rigright.verbs.planning.planned import Addition, Planned

DESK, SERVER = (2, 3, 4), (2, 4, 8)  # cards of one machine
Ask = Callable[[PlanWish], Planned]
AskOn = Callable[..., Planned | None]  # the same of a machine
FASTER = 1.3  # a step that brings less is none


def steps(planned: Planned, *, arch: Arch, market: Market, ask: Ask) -> tuple[Addition, ...]:
    """Each with the plan that its command answers; none where the machine does well as it is.

    All are asked for the same work, so they can be held against each other. `ask` answers a question.
    """
    stated, wish = planned.typed, planned.wish
    named = stated.on if stated.on is not None else stated.owned
    node = market.there if market.there is not None else None if named is None else find_node(named)
    first = planned.first
    does_well = first is not None and not (_slow(first) or planned.is_lossy)
    if node is None or node.n_nodes > 1 or does_well:
        return ()
    asks = partial(_asked, planned, ask=ask)
    additions: list[Addition] = []
    if wish.buy is not False and not wish.clouds:
        additions += _memory(arch, wish, node=node, market=market, ask=asks, lossy=planned.is_lossy)
        additions += _cards(node=node, market=market, ask=asks)
    if wish.buy is not True:
        additions += _rented(arch, wish, market=market, ask=asks)
    least = 0.0 if first is None or planned.is_lossy else _rate(first) * FASTER
    # of an overload no first token is shown
    served = [item for item in additions if "ttft_s" in item.plan.figures and not item.planned.is_lossy]
    worth = [item for item in served if _rate(item.plan) >= least]

    def order(addition: Addition) -> tuple[bool, bool, bool, float]:
        """What is answered with a tick first, then what is fast, then what costs least."""
        usd = addition.usd
        return not addition.planned.is_sound, _slow(addition.plan), usd is None, usd.value if usd else 0.0

    return tuple(sorted(worth, key=order))


def instead_of(planned: Planned, *, ask: Ask) -> Planned | None:
    """What is answered of the machine that does instead, where nothing fits what was named."""
    other = planned.result.instead
    return None if other is None else _asked(planned, on=machine_flag(other), ask=ask)


def _asked(
    planned: Planned, *, on: str, ask: Ask, buy: bool | None = None, quality: str | None = None
) -> Planned | None:
    """The same question of another machine, with the same kind of work; None where nothing fits."""
    stated, wish = planned.typed, planned.wish
    freed = replace(stated, on=on, owned=None, chips=(), vendors=(), most_chips=None, most_plans=1)
    if quality is not None and planned.is_lossy:
        freed = replace(freed, quality=quality)
    if buy is not None:
        freed = replace(freed, buy=buy, used=False)
    try:
        plan = ask(replace(freed, work=wish.work if wish.work in spoken() else stated.work))
    except RigError:
        return None
    return plan if plan.result.plans else None


def _slow(plan: Plan) -> bool:
    return isinstance(plan.work, Serving) and "tpot_s" in plan.figures and _rate(plan) < USUAL_TOK_PER_S


def _rate(plan: Plan) -> float:
    return 1 / plan.figures["tpot_s"].value if "tpot_s" in plan.figures else 0.0


def _memory(
    arch: Arch, wish: PlanWish, *, node: Node, market: Market, ask: AskOn, lossy: bool
) -> Iterator[Addition]:
    """As much more main memory as holds what the cards have no room for; `lossy`: what is there may do."""
    if node.has_no_cards or node.cards[0].chip.unified_memory:
        return
    site = Site(chips=tuple(dict.fromkeys(card.chip for card in node.cards)), cards=node.n_cards, mixed=True)
    way = next((item for item in ways_on(arch, wish, site=site) if can_offload(item.engine)), None)
    if way is None:
        return
    there = 0.0 if node.host is None else node.host.ram_bytes
    least = there if lossy else there + 1
    for size in sorted({int(to_gib(there)), *RAM_GIB}):
        if from_gib(size) < least or not size:
            continue
        host = node.host or find_host(f"{size} gb ram")
        host = replace(host, ram_bytes=from_gib(size))
        serving = Serving(
            engine=way.engine.id, weights=way.weights, kv=way.kv, context_tok=wish.context_tok or 1
        )
        if least_offload(arch, serving, cards=node.cards, host=host) is None:
            continue
        on = f"{replace(node, host=None).shown} + {host.said if node.host else f'{size}gb'}"
        planned = ask(on=on, quality=FOUR_BITS)
        if planned is not None and planned.plans[0].host is not None:
            server = host.cpu.segment == "server"
            usd = ram_usd(host.ram_kind, registered=server, gb=size - to_gib(there), today=market.today)
            label = say("{size} GB of RAM", size=size) if from_gib(size) > there else say("layers in RAM")
            yield Addition(kind="memory", label=label, on=on, planned=planned, usd=usd)
        return


def _cards(*, node: Node, market: Market, ask: AskOn) -> Iterator[Addition]:
    """The fewest more cards of the same kind."""
    chip = node.cards[0].chip
    price = market.quote(chip)
    if node.is_mixed or chip.unified_memory or node.has_no_cards or chip.around is None:
        return
    desk = chip.segment != "datacenter"
    for count in (number for number in (DESK if desk else SERVER) if number > node.n_cards):
        around = "" if node.host is None else f" + {node.host.said}"
        on = f"{count}x {chip.name}{around}"
        planned = ask(on=on)
        plan = None if planned is None or planned.is_lossy else planned.plans[0]
        if planned is None or plan is None or _slow(plan) or plan.host is not None or plan.n_chips < count:
            continue
        more = count - node.n_cards
        usd = None if price is None else scaled(priced(price, market.today), more)
        label = say("{count} more {chip}", count=more, chip=chip.name)
        yield Addition(kind="cards", label=label, on=on, planned=planned, usd=usd)
        return


def _rented(arch: Arch, wish: PlanWish, *, market: Market, ask: AskOn) -> Iterator[Addition]:
    """The cheapest machine that somebody rents out."""
    anywhere = replace(wish, on=None, owned=None, buy=False)
    try:
        answer = find(arch, anywhere, market=replace(market, there=None), alone=True)
    except RigError:
        return
    for plan in answer.plans[:1]:
        on = machine_flag(plan)
        planned = ask(on=on, buy=False)
        supply = plan.supply if planned is None else planned.plans[0].supply
        if planned is not None and supply.how == "rent" and supply.usd_per_h is not None:
            label = say("rent {label}", label=cloud_shown(supply.label))
            yield Addition(kind="rent", label=label, on=on, planned=planned, usd_per_h=supply.usd_per_h)
