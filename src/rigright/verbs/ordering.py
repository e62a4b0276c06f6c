"""Machines of which somebody said more than their cards, put together as `build` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from rigright.base.errors import AskError
from rigright.build.proposals.record import BuildWish, recommended
from rigright.cost.estimate import Estimate, scaled
from rigright.facts.chips import by_id
from rigright.facts.nodes import Node, find_node

if TYPE_CHECKING:
    from datetime import date

    from rigright.facts.hosts import Host
    from rigright.money.machine_price import Cards, Stored


def beside(host: Host | None, wanted: BuildWish) -> BuildWish:
    """The same with the processor and the memory that somebody spoke of."""
    if host is None:
        return wanted
    named = "cpu" not in host.assumed
    return replace(
        wanted,
        processor=host.cpu.name if named else None,
        sockets=host.sockets if named else None,
        ram_bytes=host.ram_bytes,  # what the work was counted with
    )


def node_in(machine: object) -> Node | None:
    """A machine in words, as a plan's file has it; None where it is no such text."""
    try:
        return find_node(machine) if isinstance(machine, str) else None
    except AskError:
        return None


def host_in(machine: object) -> Host | None:
    """What it has beside its cards."""
    node = node_in(machine)
    return None if node is None else node.host


def paid_node(plan: Mapping[str, Any], asked: Mapping[str, Any]) -> Node | None:
    """The machine that a plan of a file was asked on: all of it is paid for, however little works.

    None where none was named, or one that was looked at.
    """
    supply = plan.get("supply")
    is_own = isinstance(supply, dict) and supply.get("how") == "own"
    return node_in(asked.get("owned" if is_own else "on"))


@cache
def ordered(
    cards: Cards, machines: int, *, host: Host | None, stored: Stored, today: date
) -> Estimate | None:
    """What stands around cards in such machines; None where none can be put together."""
    from rigright.build.proposals.propose import propose

    counts = tuple((chip, -(-count // by_id()[chip].devices)) for chip, count in cards)
    wanted = beside(host, BuildWish(cards=counts, machines=machines, stored=stored))
    if not wanted.cards and wanted.processor is None:
        return None
    made = recommended(propose(wanted, today=today).variants)
    return None if made is None or not made.is_ordered else scaled(made.around_usd, made.machines)
