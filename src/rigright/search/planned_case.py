"""A plan as a case of serving under the load it was scored with, to ask the laws of it again."""

from __future__ import annotations

from rigright.arch.record import Arch
from rigright.choice.case import Case, serving_case
from rigright.choice.work import traffic_of as sent
from rigright.demand import PlanWish, Serving, Traffic
from rigright.facts.hosts import CPU
from rigright.facts.nodes import Card, chip_card, find_node
from rigright.search.record import Plan


def traffic_of(plan: Plan, wish: PlanWish, *, arch: Arch) -> Traffic:
    """The load a plan was scored with."""
    return sent(wish, plan.concurrency, arch=arch, drafts=plan.drafts)


def case_of(arch: Arch, plan: Plan) -> Case:
    """A plan that serves, as a case of serving."""
    work = plan.work if isinstance(plan.work, Serving) else Serving()
    mixed = " + " in plan.chip.name
    cards: tuple[Card, ...]
    if plan.chip.vendor == CPU:
        cards = (chip_card(plan.chip),)
    else:
        cards = find_node(plan.chip.name).cards if mixed else find_node(plan.chip.id).cards[:1] * plan.n_chips
    return serving_case(arch, work, layout=plan.layout, cards=cards, drafts=plan.drafts, host=plan.host)
