"""Machines put together, as a page to order from and as data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from rigright.base import telling
from rigright.base.money import CNY, USD, show_money
from rigright.base.page import Commands, Line, Page, Points, Shown, Table, number, prose, records, table
from rigright.base.units import show_watts, to_gib
from rigright.base.words import Sentence, say
from rigright.build.machine import SAFE_SHARE
from rigright.build.proposals.order import called
from rigright.build.proposals.record import CHEAPEST, GROWING, RECOMMENDED, Item, Proposal
from rigright.cost.estimate import Estimate
from rigright.facts.chips import by_id
from rigright.facts.shop.cards import PASSIVE
from rigright.money.tariff import host_usd
from rigright.verbs.assembled import Assembled

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
    first, made = result.first, result.proposed.variants
    if first is None:
        refusals = Points.of(_refusals(result), title=say("why not"), tone="bad")
        return Page.of(verdict(result), refusals, tone="bad")
    more = result.asked and not (why and details)
    unfit = any("room" in item.parts or item.rule in _HEAVY for item in first.doubts)
    warned = unfit or result.over_budget or result.proposed.nearest is not None
    return Page.of(
        verdict(result),
        (order(proposal, result) for proposal in (made if details else (first,))),
        _variants(result) if len({item.items for item in made}) > 1 else None,
        Points.of((ruling.sentence for ruling in first.doubts), title=say("to check"), tone="warn"),
        map(Line.warn, _warnings(result)),
        map(Line.dim, (*_assumed(result), *result.notes)),
        _refused(result) if why else None,
        Commands.next((f"{result.asked} --details --why",) if more else ()),
        tone="warn" if warned else "good",
    )


def _refused(result: Assembled) -> Table:
    """Parts that would not do, and why."""
    columns = (say("part"), prose(say("why not")))
    rows = ((refusal.part, refusal.reason) for refusal in result.proposed.refusals)
    return table(columns, rows, title=say("not chosen"))


def verdict(result: Assembled) -> Sentence:
    """The answer as a sentence."""
    first = result.first
    if first is None:
        return result.proposed.refused(result.cards, in_pc=result.wanted.pc is not None)
    whole, around = (
        _money(estimate, result, count=first.machines) for estimate in (first.usd, first.around_usd)
    )
    gpus_usd = (first.usd.value - first.around_usd.value) * first.machines
    names = {"number": first.machines, "cards": _cards(first, result), "usd": whole, "around": around}
    parts = {**names, "gpus": show_money(gpus_usd, result.currency)}
    single = first.machines == 1
    alone = not first.rig.cards or (first.rig.machine is not None and first.rig.machine.kind == "closed")
    cards = [item for item in first.items if item.kind == "gpu"]
    if all(item.owned for item in first.items):
        sentence = say("{cards}: nothing to buy, the whole machine is your own", **names)
    elif cards and all(item.owned for item in cards):
        sentence = say("{cards}: {usd} for the rest of the machine, the cards are your own", **names)
    elif not first.is_priced:
        sentence = say("{cards}: {around} without parts of unknown price", **names)
    elif alone:
        sentence = say("{cards}: {usd}", **names) if single else say("{number}x {cards}: {usd}", **names)
    elif result.wanted.pc is not None and not first.around_usd.value:
        sentence = say("{cards}: {usd}, your PC takes them as it is", **names)
    elif result.wanted.pc is not None:
        sentence = say("{cards}: {usd}: GPUs {gpus}, changes to your PC {around}", **parts)
    elif single:
        sentence = say("{cards}: {usd} complete: GPUs {gpus}, everything else {around}", **parts)
    else:
        sentence = say(
            "{number} machines with {cards}: {usd} complete: GPUs {gpus}, everything else {around}", **parts
        )
    if result.over_budget:
        limit = show_money(result.wanted.budget_usd or 0.0, result.currency)
        return say("{said}; over the budget of {limit}", said=sentence, limit=limit)
    return sentence


def _cards(verdict: Proposal, result: Assembled) -> str:
    machine = verdict.rig.machine
    if machine is not None and machine.kind == "closed":
        return machine.name
    if machine is not None and machine.kind == "modules":
        return " + ".join(f"{cards.count}x {cards.chip.name}" for cards in verdict.rig.cards)
    return result.cards


def _money(usd: Estimate, result: Assembled, *, count: int = 1) -> str:
    return show_money(usd.value * count, result.currency)


def _range(usd: Estimate | None, result: Assembled) -> Shown:
    if usd is None:
        return say("no price")
    low, high = (show_money(value, result.currency) for value in (usd.low, usd.high))
    return low if low == high else f"{low}-{high}"


def order(proposal: Proposal, result: Assembled) -> Table:
    """What to order, with the range of its price."""
    rows = [
        (
            KINDS[item.kind],
            counted(item),
            say("your own")
            if item.owned
            else ""
            if item.kind == "nic" and item.usd is None
            else _range(item.usd, result),
        )
        for item in proposal.items
    ]
    rows.append((say("total"), "", _range(proposal.usd, result)))
    columns = (say("part"), prose(say("parts list")), number(result.currency))
    title = LABELS[proposal.label]
    if proposal.machines > 1:
        title = say("{variant}, each of {count} machines", variant=title, count=proposal.machines)
    return table(columns, rows, title=title)


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
            (number(say("power")), lambda made: "" if made.wall_w is None else show_watts(made.wall_w)),
            (number(say("total")), lambda proposal: _money(proposal.usd, result)),
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


def _warnings(result: Assembled) -> Iterator[Sentence]:
    first = result.first
    if first is None:
        return
    if result.proposed.nearest is not None:
        yield result.proposed.nearest
    if first.limit_w is not None:
        yield say(
            "each card is limited to {watts}: nvidia-smi -pl {number}",
            watts=show_watts(first.limit_w),
            number=f"{first.limit_w:.0f}",
        )
    passive = [item.chip.name for item in first.rig.cards if item.shape.cooling == PASSIVE]
    if passive and first.rig.machine is None:
        yield say("{chip} has no fans: add a blower with a shroud to each card", chip=passive[0])
    unknown = [item.name for item in first.items if item.usd is None and item.kind != "nic"]
    if unknown:
        yield say("no price known: {names}", names=", ".join(map(str, unknown)))


def _assumed(result: Assembled) -> Iterator[Sentence]:
    first = result.first
    if first is None:
        return
    if first.wall_w is not None:
        circuits = _CIRCUITS.get(result.currency, _CIRCUITS[USD])
        fits = next(
            (circuit for circuit in circuits if circuit[0] * circuit[1] * SAFE_SHARE >= first.wall_w), None
        )
        watts = show_watts(first.wall_w)
        if fits is None:
            yield say("draws up to {watts} at the wall: several circuits, or three phases", watts=watts)
        else:
            volts, amps = (f"{fit:.0f}" for fit in fits)
            sentence = say(
                "draws up to {watts} at the wall: {volts} V and {amps} A or more",
                watts=watts,
                volts=volts,
                amps=amps,
            )
            yield sentence
    if first.usd.as_of:
        yield say("oldest price: {date}; verify before buying", date=first.usd.as_of)


def sheet(result: Assembled) -> Page:
    """One row a line of an order; where there is none, a row a part that would not do."""
    heads: tuple[str, ...] = ("variant", "part", "count", "name", "usd_low", "usd", "usd_high", "as_of")
    rows: list[tuple[Shown, ...]] = []
    for proposal in result.proposed.variants:
        for item in proposal.items:
            ends = () if item.usd is None else (item.usd.low, item.usd.value, item.usd.high)
            usd = (*(f"{end:.2f}" for end in ends), item.usd.as_of or "") if item.usd else ("",) * 4
            rows.append((proposal.label, item.kind, str(item.count), item.name, *usd))
    if result.first is None:
        heads = ("part", "rule", "reason")
        rows = [(refusal.part, refusal.rule, refusal.reason) for refusal in result.proposed.refusals]
    return Page.of(verdict(result), table(heads, rows))


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
    drives = dict.fromkeys(("system", "data", "scratch"), "ssd")
    same = {kind: kind for kind in ("gpu", "machine", "board", "cpu", "cooler", "ram", "psu", "case")}
    keys = {**same, **drives, "riser": "risers"}
    limit = "" if proposal.limit_w is None else f" ({proposal.limit_w:.0f} W)"
    for item in proposal.items:
        if item.kind in keys:
            count = "" if item.count == 1 or item.kind == "cooler" else f"{item.count}x "
            yield f"{keys[item.kind]}: {count}{item.name}{limit if item.kind == 'gpu' else ''}"


def _list(proposal: Proposal) -> str:
    """The machine as a list that `build --check` reads."""
    return "\n".join(listed(proposal))


plain = telling.RecordPrinter(Assembled, telling.RecordPrinter(Proposal, list=_list), answer=verdict)
