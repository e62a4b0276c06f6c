"""What the machine of a plan is called: for people, and as `--on` takes it."""

from __future__ import annotations

from dataclasses import replace

from rigright.base import telling
from rigright.demand import Layout
from rigright.facts.chips import by_id, short
from rigright.facts.host_words import words_of
from rigright.facts.hosts import CPU_ID
from rigright.search.record import Plan


def is_mixed(plan: Plan) -> bool:
    """Whether its cards are unlike: their chip then bears all their names."""
    return " + " in plan.chip.name


def machine(plan: Plan) -> str:
    """The cards of a plan as people call them: "8x H100 SXM5 80GB", "2 x (8x H200)"."""
    name, cables = short(plan.chip.name), _cables(plan)
    if plan.host is not None:
        cables += f" + {plan.host.shown}"
    if is_mixed(plan):
        return name
    each = -(-plan.n_chips // max(plan.n_nodes, 1))
    if plan.n_nodes <= 1 or each * plan.n_nodes != plan.n_chips:
        return f"{plan.n_chips}x {name}{cables}"
    return f"{plan.n_nodes} x ({each}x {name}){cables}"


plan_told = telling.RecordPrinter(Plan, machine=machine)


def _cables(plan: Plan) -> str:
    """What was said of bridges, slots and network."""
    return f", {plan.chip.cabling.shown}" if plan.chip.cabling and plan.chip.cabling.shown else ""


def machine_flag(plan: Plan) -> str:
    """The same as --on takes it."""
    if plan.host is not None:
        return f"{machine_flag(replace(plan, host=None))} + {plan.host.said}"
    if plan.chip.id.startswith(CPU_ID):
        return words_of(plan.chip)
    if is_mixed(plan):
        return plan.chip.name
    usual = by_id().get(plan.chip.id, plan.chip)
    cards = -(-plan.n_chips // usual.devices)  # a card may show as two
    own = plan.chip.name.removeprefix(usual.name) if plan.chip.name.startswith(usual.name) else ""
    name = f"{plan.chip.id}{own}"  # an instance of MIG, or a power limit
    each = -(-cards // max(plan.n_nodes, 1))
    if plan.n_nodes > 1 and each * plan.n_nodes == cards:
        return f"{plan.n_nodes} nodes of {each}x {name}{_cables(plan)}"
    return f"{cards}x {name}{_cables(plan)}"


def pool(layout: Layout) -> str:
    """Workers alike: "2x tp4"."""
    cuts = [f"{name}{getattr(layout, name)}" for name in ("tp", "pp", "ep") if getattr(layout, name) > 1]
    cuts += ["dp attention"] if layout.attention_dp else []
    return " ".join([f"{layout.dp}x", *(cuts or ["tp1"])])
