"""What each part of a machine costs: its own row's price, else that of such parts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from rigright.base.record import replace
from rigright.base.units import to_gib
from rigright.base.words import Sentence, say
from rigright.build.machine import Modules, Rig
from rigright.build.proposals.record import BuildWish, Item
from rigright.build.rules.slots import is_open
from rigright.cost.estimate import scaled
from rigright.facts.parts import parts
from rigright.facts.prices import OrderLine
from rigright.facts.shop.cpus import Processor
from rigright.facts.shop.tables import Board, Cooler, Enclosure, PowerSupply
from rigright.money.lifetime import FREE
from rigright.money.machine_price import disk_of, disks_tb, line_usd, network_of, own_line
from rigright.money.prices import priced, quote_of


def processor_line(processor: Processor, count: int = 1) -> OrderLine | None:
    """What prices a processor: its own row, else the cores of one that no row of the table may stand for."""
    if processor.row is not None:
        return OrderLine(kind="cpu", variant=processor.row.name, count=count)
    socket = None if processor.family is None else processor.family.socket.lower()
    if socket is None:
        return None
    return OrderLine(kind="cpu", variant=socket, size=processor.cores or 16, count=count)


def memory_line(modules: Modules) -> OrderLine:
    """What prices memory: all of it, by the GB."""
    kind = (modules.type or "").lower().partition("-")[0]
    variant = f"{kind}-registered" if modules.registered else kind
    return OrderLine(kind="ram", variant=variant, size=to_gib(modules.total_bytes or 0.0))


def _card_items(rig: Rig, wanted: BuildWish, *, today: date) -> Iterator[Item]:
    """The cards of one machine, kind by kind: those that are there cost nothing, the others a share of it."""
    closed = rig.machine if rig.machine is not None and rig.machine.kind == "closed" else None
    kind = "gpu" if closed is None else "machine"
    items = []
    for cards in rig.cards:
        quote = quote_of(cards.chip, today=today, currency=wanted.currency, used=wanted.used or None)
        name, every = cards.chip.name if closed is None else closed.name, cards.count * wanted.machines
        there = wanted.there(cards.chip.id, every)
        named = Item(kind=kind, count=cards.count - there // wanted.machines, name=name, usd=None)
        if there:
            count = there // wanted.machines or 1
            yield replace(named, count=count, usd=FREE, owned=True)
        if there < every:
            usd = scaled(priced(quote, today), (every - there) / wanted.machines) if quote else None
            items.append(replace(named, usd=usd, used=bool(quote and quote.used)))
    if wanted.cards_usd is None:
        yield from items
    elif len(items) == 1:
        yield replace(items[0], usd=scaled(wanted.cards_usd, 1 / wanted.machines))
    else:
        more = wanted.cards_usd.value / wanted.machines / (sum(item.value for item in items) or 1.0)
        yield from (replace(item, usd=item.usd and scaled(item.usd, more)) for item in items)


def items_of(rig: Rig, wanted: BuildWish, *, more: float, today: date) -> Iterator[Item]:
    """Every line of the order, of one machine; `more`: disks so many times as large."""
    yield from _card_items(rig, wanted, today=today)
    if rig.machine is not None and rig.machine.kind == "closed":
        return
    lines = (*_base_lines(rig), *_disk_lines(wanted, more=more), *_shell_lines(rig))
    for kind, name, line in (*lines, network(rig, wanted.machines)):
        usd = None if line is None else line_usd(line, today)
        yield Item(kind=kind, count=_counted(rig, kind, line=line), name=name, usd=usd, line=line)


Named = tuple[str, str | Sentence, OrderLine | None]  # kind, name, and what it is priced by


def _counted(rig: Rig, kind: str, *, line: OrderLine | None) -> int:
    """How many there are of a line; memory is priced by all of it, and comes in modules."""
    if kind == "ram":
        return sum(modules.count or 1 for modules in rig.modules)
    return 1 if line is None else line.count


def _base_lines(rig: Rig) -> Iterator[Named]:
    """A finished machine; board, processors with their coolers, memory."""
    count = rig.cpu_count
    if rig.machine is not None:
        yield "machine", rig.machine.name, _chassis_line(rig)
    if rig.board is not None:
        yield "board", called(rig.board), own_line("board", rig.board)
    if rig.processor is not None:
        yield "cpu", rig.processor.name, processor_line(rig.processor, count)
    if rig.cooler is not None:
        yield "cooler", called(rig.cooler), own_line("cooler", rig.cooler, count=count)
    for modules in rig.modules:
        kind = "RDIMM" if modules.registered else "UDIMM"
        yield "ram", f"{to_gib(modules.each_bytes or 0.0):.0f} GB {modules.type} {kind}", memory_line(modules)


def _disk_lines(wanted: BuildWish, *, more: float) -> Iterator[Named]:
    for kind, size_tb in disks_tb(wanted.stored, more=more):
        yield kind, f"{size_tb:g} TB NVMe PCIe 4.0", disk_of(size_tb)


def _shell_lines(rig: Rig) -> Iterator[Named]:
    """Power supplies, case, cables."""
    for supply in dict.fromkeys(rig.supplies):
        line = own_line("psu", supply, count=rig.supplies.count(supply))
        yield "psu", f"{called(supply)}, {supply.watts:.0f} W", line
    if len(rig.supplies) > 1:
        yield "sync", say("power supply sync board"), own_line("sync", parts("sync")[0])
    if rig.case is not None:
        yield "case", called(rig.case), own_line("case", rig.case)
        if is_open(rig) and rig.cards:
            yield "riser", "PCIe 4.0 x16", own_line("riser", parts("riser")[0], count=rig.n_cards)


def network(rig: Rig, machines: int) -> Named:
    """A fast card where several machines work as one, else what the board has."""
    if machines < 2 or rig.machine is not None:
        return "nic", say("on the board") if rig.machine is None else say("stock configuration"), None
    part_kind = network_of(rig.n_cards)
    return "nic", part_kind.name, own_line("nic", part_kind)


GENERIC = {
    "stock cooler": say("stock cooler"),
    "tower air cooler": say("tower cooler"),
    "SP3 tower cooler": say("tower cooler for SP3"),
    "open frame for 6 cards": say("open frame for {count} cards", count=6),
    "open frame for 8 cards": say("open frame for {count} cards", count=8),
    "open frame for 12 cards": say("open frame for {count} cards", count=12),
    "4U rackmount chassis": say("4U rack case"),
    "4U GPU chassis": say("4U GPU chassis"),
}


def called(part: Board | PowerSupply | Enclosure | Cooler) -> str | Sentence:
    """Maker and name; of what several make, what it is."""
    if part.vendor in {None, "generic"}:
        return GENERIC.get(part.name, part.name)
    return f"{part.vendor} {part.name}"


def _chassis_line(rig: Rig) -> OrderLine | None:
    """What prices a finished machine without its cards."""
    machine, chip = rig.machine, rig.cards[0].chip if rig.cards else None
    if machine is None or chip is None:
        return None
    if machine.kind == "modules" and machine.cards_max <= 8:
        around = chip.around or "baseboard"
        return OrderLine(kind="chassis", variant=f"{around}-{8 if machine.cards_max > 4 else 4}")
    if machine.kind == "server":
        size = next((item for item in (2, 4, 8) if rig.n_cards <= item), 8)
        return OrderLine(kind="chassis", variant=f"server-{size}")
    return None
