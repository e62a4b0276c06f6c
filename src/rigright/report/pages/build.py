"""Machines put together, as a page to order from and as data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from rigright.base import telling
from rigright.base.money import CNY, USD, show_money
from rigright.base.page import (
    Commands,
    Line,
    Page,
    Points,
    Shown,
    Table,
    known,
    number,
    prose,
    records,
    table,
)
from rigright.base.units import show_watts, to_gib
from rigright.base.words import Sentence, say
from rigright.build.machine import SAFE_SHARE
from rigright.build.proposals.order import called
from rigright.build.proposals.record import CHEAPEST, GROWING, RECOMMENDED, Item, Proposal
from rigright.cost.estimate import Estimate
from rigright.facts.chips import by_id
from rigright.facts.shop.cards import PASSIVE
from rigright.money.tariff import host_usd
from rigright.verbs.build import Assembled

KINDS = {
    "gpu": say("GPU"), "machine": say("machine"), "board": say("board"), "cpu": say("CPU"),
    "cooler": say("cooler"), "ram": say("memory"), "system": say("system drive"), "data": say("data drive"),
    "scratch": say("scratch drive"), "psu": say("power supply"), "sync": say("power supply"),
    "case": say("case"), "riser": say("riser cables"), "nic": say("network"),
}  # fmt: skip
LABELS = {
    CHEAPEST: say("cheapest that works"), RECOMMENDED: say("recommended"), GROWING: say("room to grow"),
}  # fmt: skip
_HEAVY = frozenset({"watts", "spacing", "air"})  # doubts that no tick stands over
_CIRCUITS = {  # what usual outlets carry for hours, by what is paid with
    CNY: ((220.0, 10.0), (220.0, 16.0), (220.0, 32.0), (380.0, 32.0), (380.0, 63.0)),
    USD: ((120.0, 15.0), (230.0, 10.0), (120.0, 20.0), (230.0, 16.0), (230.0, 32.0), (400.0, 32.0)),
}


def page(result: Assembled, *, why: bool = False, details: bool = False) -> Page:
    """The page for people."""
    first, proposed = result.first, result.proposed
    if first is None:
        refusals = Points.of(_refusals(result), title=say("why not"), tone="bad")
        return Page.of(verdict(result), refusals, tone="bad")
    unfit = any("room" in item.parts or item.rule in _HEAVY for item in first.doubts)
    warned = unfit or result.over_budget or proposed.nearest is not None
    refused = ((refusal.part, refusal.reason) for refusal in proposed.refusals)
    more = result.asked and not (why and details)
    return Page.of(
        verdict(result),
        (order(proposal, result) for proposal in (proposed.variants if details else (first,))),
        _variants(result) if len({item.items for item in proposed.variants}) > 1 else None,
        Points.of((ruling.sentence for ruling in first.doubts), title=say("to check"), tone="warn"),
        map(Line.warn, _warnings(result, first)),
        map(Line.dim, (*_assumed(result, first), *result.notes)),
        table((say("part"), prose(say("why not"))), refused, title=say("not chosen")) if why else None,
        Commands.next((f"{result.asked} --details --why",) if more else ()),
        tone="warn" if warned else "good",
    )


def verdict(result: Assembled) -> Sentence:
    """The answer as a sentence."""
    first, pc = result.first, result.wanted.pc
    if first is None:
        return result.proposed.refused(result.cards, in_pc=pc is not None)
    machine, count = first.rig.machine, first.machines
    whole, around, gpus = (
        show_money(usd * count, result.currency)
        for usd in (first.usd.value, first.around_usd.value, first.usd.value - first.around_usd.value)
    )
    fields = {"number": count, "cards": _cards(first, result), "usd": whole, "around": around, "gpus": gpus}
    alone = not first.rig.cards or (machine is not None and machine.kind == "closed")
    cards = [item for item in first.items if item.kind == "gpu"]
    sentence = say(
        "{number} machines with {cards}: {usd} complete: GPUs {gpus}, everything else {around}", **fields
    )
    if all(item.owned for item in first.items):
        sentence = say("{cards}: nothing to buy, the whole machine is your own", **fields)
    elif cards and all(item.owned for item in cards):
        sentence = say("{cards}: {usd} for the rest of the machine, the cards are your own", **fields)
    elif not first.is_priced:
        sentence = say("{cards}: {around} without parts of unknown price", **fields)
    elif alone:
        sentence = (
            say("{cards}: {usd}", **fields) if count == 1 else say("{number}x {cards}: {usd}", **fields)
        )
    elif pc is not None and not first.around_usd.value:
        sentence = say("{cards}: {usd}, your PC takes them as it is", **fields)
    elif pc is not None:
        sentence = say("{cards}: {usd}: GPUs {gpus}, changes to your PC {around}", **fields)
    elif count == 1:
        sentence = say("{cards}: {usd} complete: GPUs {gpus}, everything else {around}", **fields)
    if result.over_budget:
        limit = show_money(result.wanted.budget_usd or 0.0, result.currency)
        return say("{said}; over the budget of {limit}", said=sentence, limit=limit)
    return sentence


def _range(usd: Estimate | None, result: Assembled) -> Shown:
    if usd is None:
        return say("no price")
    low, high = (show_money(value, result.currency) for value in (usd.low, usd.high))
    return low if low == high else f"{low}-{high}"


def _cards(first: Proposal, result: Assembled) -> str:
    """The cards as they were asked for; a machine with its own by their name."""
    machine = first.rig.machine
    if machine is None or machine.kind not in {"closed", "modules"}:
        return result.cards
    cards = " + ".join(f"{cards.count}x {cards.chip.name}" for cards in first.rig.cards)
    return machine.name if machine.kind == "closed" else cards


def order(proposal: Proposal, result: Assembled) -> Table:
    """What to order, with the range of its price."""

    def cost(item: Item) -> Shown:
        if item.owned:
            return say("your own")
        return "" if item.kind == "nic" and item.usd is None else _range(item.usd, result)

    rows = [(KINDS[item.kind], counted(item), cost(item)) for item in proposal.items]
    rows.append((say("total"), "", _range(proposal.usd, result)))
    title = LABELS[proposal.label]
    if proposal.machines > 1:
        title = say("{variant}, each of {count} machines", variant=title, count=proposal.machines)
    return table((say("part"), prose(say("parts list")), number(result.currency)), rows, title=title)


def counted(item: Item) -> Shown:
    """A part and how many of it."""
    sentence = item.name if item.count == 1 else say("{count}x {name}", count=item.count, name=item.name)
    return say("{name}, used", name=sentence) if item.used else sentence


def _variants(result: Assembled) -> Table:
    """A row a variant, alike ones once."""
    return records(
        {variant.items: variant for variant in result.proposed.variants}.values(),
        (
            (say("variant"), lambda proposal: LABELS[proposal.label]),
            (prose(say("machine")), _board),
            (number(say("memory")), _ram),
            (number(say("power")), lambda proposal: known(proposal.wall_w, show_watts)),
            (number(say("total")), lambda proposal: show_money(proposal.usd.value, result.currency)),
        ),
    )


def _board(proposal: Proposal) -> str:
    """What it stands on: a machine as it is sold, or board and processor."""
    rig = proposal.rig
    if rig.machine is not None:
        return rig.machine.name
    return f"{'' if rig.board is None else called(rig.board)}, {rig.processor.name if rig.processor else ''}"


def _ram(proposal: Proposal) -> str:
    size = sum(modules.total_bytes or 0.0 for modules in proposal.rig.modules)
    return f"{to_gib(size):.0f} GB" if size else ""


def _warnings(result: Assembled, first: Proposal) -> Iterator[Sentence]:
    if result.proposed.nearest is not None:
        yield result.proposed.nearest
    if first.limit_w is not None:
        fields = {"watts": show_watts(first.limit_w), "number": f"{first.limit_w:.0f}"}
        yield say("each card is limited to {watts}: nvidia-smi -pl {number}", **fields)
    passive = [item.chip.name for item in first.rig.cards if item.shape.cooling == PASSIVE]
    if passive and first.rig.machine is None:
        yield say("{chip} has no fans: add a blower with a shroud to each card", chip=passive[0])
    unknown = [str(item.name) for item in first.items if item.usd is None and item.kind != "nic"]
    if unknown:
        yield say("no price known: {names}", names=", ".join(unknown))


def _assumed(result: Assembled, first: Proposal) -> Iterator[Sentence]:
    wall_w = first.wall_w
    if wall_w is not None:
        circuits = _CIRCUITS.get(result.currency, _CIRCUITS[USD])
        fits = next((pair for pair in circuits if pair[0] * pair[1] * SAFE_SHARE >= wall_w), None)
        watts = show_watts(wall_w)
        if fits is None:
            yield say("draws up to {watts} at the wall: several circuits, or three phases", watts=watts)
        else:
            fields = {"watts": watts, "volts": f"{fits[0]:.0f}", "amps": f"{fits[1]:.0f}"}
            yield say("draws up to {watts} at the wall: {volts} V and {amps} A or more", **fields)
    if first.usd.as_of:
        yield say("oldest price: {date}; verify before buying", date=first.usd.as_of)


def sheet(result: Assembled) -> Page:
    """One row a line of an order; where there is none, a row a part that would not do."""
    if result.first is None:
        rows = ((refusal.part, refusal.rule, refusal.reason) for refusal in result.proposed.refusals)
        return Page.of(verdict(result), table(("part", "rule", "reason"), rows))

    def cells(usd: Estimate | None) -> tuple[str, ...]:
        if usd is None:
            return "", "", "", ""
        return f"{usd.low:.2f}", f"{usd.value:.2f}", f"{usd.high:.2f}", usd.as_of or ""

    heads = ("variant", "part", "count", "name", "usd_low", "usd", "usd_high", "as_of")
    lines = (
        (proposal.label, item.kind, str(item.count), item.name, *cells(item.usd))
        for proposal in result.proposed.variants
        for item in proposal.items
    )
    return Page.of(verdict(result), table(heads, lines))


def _refusals(result: Assembled) -> Iterator[Shown]:
    by_rule = {item.rule: item for item in reversed(result.proposed.refusals)}
    for refusal in by_rule.values():
        yield say("{name}: {why}", name=refusal.part, why=refusal.reason)
    if len(result.wanted.cards) == 1 and result.wanted.pc is None and result.wanted.circuit is None:
        chip, count = result.wanted.cards[0]
        around = host_usd(
            by_id()[chip], count * by_id()[chip].devices, today=date.fromisoformat(result.today)
        )
        yield say("plan and cost estimate the rest of such a machine at {usd}", usd=_range(around, result))


def listed(proposal: Proposal) -> Iterator[str]:
    """The machine as a list that `build --check` reads."""
    same = ("gpu", "machine", "board", "cpu", "cooler", "ram", "psu", "case")
    keys = (
        {kind: kind for kind in same}
        | dict.fromkeys(("system", "data", "scratch"), "ssd")
        | {"riser": "risers"}
    )
    limit = "" if proposal.limit_w is None else f" ({proposal.limit_w:.0f} W)"
    for item in proposal.items:
        if item.kind in keys:
            count = "" if item.count == 1 or item.kind == "cooler" else f"{item.count}x "
            yield f"{keys[item.kind]}: {count}{item.name}{limit if item.kind == 'gpu' else ''}"


def _list(proposal: Proposal) -> str:
    """The machine as a list that `build --check` reads."""
    return "\n".join(listed(proposal))


plain = telling.RecordPrinter(Assembled, telling.RecordPrinter(Proposal, list=_list), answer=verdict)
