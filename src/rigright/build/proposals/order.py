"""What each part of a machine costs: its own row's price, else that of such parts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from rigright.base.units import to_gib
from rigright.base.words import Sentence, say
from rigright.build.machine import Rig
from rigright.build.prices import part_usd as listed_usd
from rigright.build.proposals.record import BuildWish, Item
from rigright.build.rules.slots import is_open
from rigright.cost.estimate import Estimate
from rigright.cost.prices import cpu_usd, part_usd, priced, quote_of, ram_usd
from rigright.facts.chips import Chip
from rigright.facts.parts import parts
from rigright.facts.shop.cpus import Processor
from rigright.facts.shop.tables import Board, Cooler, Enclosure, Finished, PowerSupply


def times(one: Estimate | None, count: int) -> Estimate | None:
    """The price of several."""
    if one is None:
        return None
    return Estimate(
        value=one.value * count,
        low=one.low * count,
        high=one.high * count,
        mark=one.mark,
        as_of=one.as_of,
        why=one.why,
    )


def ranged(low: float, high: float, *, as_of: str | None) -> Estimate:
    """A price as a row states it."""
    return Estimate(value=(low + high) / 2, low=low, high=high, mark="stated", as_of=as_of)


def own_usd(part: Board | PowerSupply | Enclosure | Cooler) -> Estimate | None:
    """What a part's own row says it costs."""
    if part.usd_low is None or part.usd_high is None:
        return None
    return ranged(part.usd_low, part.usd_high, as_of=part.as_of)


def processor_usd(processor: Processor, today: date) -> Estimate | None:
    """The same of one that no row of the table may stand for."""
    if processor.row is not None:
        return cpu_usd(processor.row, today)
    socket = None if processor.family is None else processor.family.socket.lower()
    return None if socket is None else part_usd("cpu", socket, size=processor.cores or 16, today=today)


def card_usd(chip: Chip, wanted: BuildWish, *, today: date) -> Estimate | None:
    """What a card costs on the market that is asked for."""
    quote = quote_of(chip, today=today, currency=wanted.currency, used=wanted.used)
    return None if quote is None else priced(quote, today)


def items_of(
    rig: Rig, wanted: BuildWish, *, disks_tb: tuple[tuple[str, float], ...], today: date
) -> Iterator[Item]:
    """Every line of the order, of one machine."""
    if rig.machine is not None and rig.machine.kind == "closed":
        usd = card_usd(rig.cards[0].chip, wanted, today=today)
        yield Item(kind="machine", count=1, name=rig.machine.name, usd=usd)
        return
    for cards in rig.cards:
        usd = times(card_usd(cards.chip, wanted, today=today), cards.count)
        yield Item(kind="gpu", count=cards.count, name=cards.chip.name, usd=usd)
    if rig.machine is not None:
        usd = chassis_usd(rig.machine, rig.n_cards, today=today)
        yield Item(kind="machine", count=1, name=rig.machine.name, usd=usd)
    yield from _base_items(rig, today=today)
    for kind, size_tb in disks_tb:
        usd = part_usd("disk", "nvme-gen4", size=size_tb, today=today)
        yield Item(kind=kind, count=1, name=f"{size_tb:g} TB NVMe PCIe 4.0", usd=usd)
    yield from _shell_items(rig)
    yield network(rig, wanted.machines)


def _base_items(rig: Rig, *, today: date) -> Iterator[Item]:
    """Board, processors with their coolers, memory."""
    if rig.board is not None:
        yield Item(kind="board", count=1, name=called(rig.board), usd=own_usd(rig.board))
    if rig.processor is not None:
        usd = times(processor_usd(rig.processor, today), rig.cpu_count)
        yield Item(kind="cpu", count=rig.cpu_count, name=rig.processor.name, usd=usd)
    if rig.cooler is not None:
        usd = times(own_usd(rig.cooler), rig.cpu_count)
        yield Item(kind="cooler", count=rig.cpu_count, name=called(rig.cooler), usd=usd)
    for one in rig.modules:
        registered = bool(one.registered)
        usd = ram_usd(one.type or "", registered=registered, gb=to_gib(one.total_bytes or 0.0), today=today)
        name = f"{to_gib(one.each_bytes or 0.0):.0f} GB {one.type} {'RDIMM' if registered else 'UDIMM'}"
        yield Item(kind="ram", count=one.count or 1, name=name, usd=usd)


def _shell_items(rig: Rig) -> Iterator[Item]:
    """Power supplies, case, cables."""
    for supply in dict.fromkeys(rig.supplies):
        count = rig.supplies.count(supply)
        name = f"{called(supply)}, {supply.watts:.0f} W"
        yield Item(kind="psu", count=count, name=name, usd=times(own_usd(supply), count))
    if len(rig.supplies) > 1:
        said = say("power supply sync board")
        yield Item(kind="sync", count=1, name=said, usd=listed_usd(parts("sync")[0]))
    if rig.case is not None:
        yield Item(kind="case", count=1, name=called(rig.case), usd=own_usd(rig.case))
        if is_open(rig) and rig.cards:
            usd = listed_usd(parts("riser")[0], rig.n_cards)
            yield Item(kind="riser", count=rig.n_cards, name="PCIe 4.0 x16", usd=usd)


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


def network(rig: Rig, machines: int) -> Item:
    """A fast card where several machines work as one, else what the board has."""
    if machines < 2 or rig.machine is not None:
        return Item(
            kind="nic",
            count=1,
            name=say("on the board") if rig.machine is None else say("stock configuration"),
            usd=None,
        )
    found = next(one for one in parts("nic") if one.id == ("nic-100g" if rig.n_cards >= 2 else "nic-25g"))
    return Item(kind="nic", count=1, name=found.name, usd=listed_usd(found))


def chassis_usd(machine: Finished, cards: int, *, today: date) -> Estimate | None:
    """What a finished machine costs without its cards."""
    if machine.kind == "modules" and machine.cards_max <= 8:
        return part_usd("chassis", "baseboard-8" if machine.cards_max >= 8 else "baseboard-4", today=today)
    if machine.kind == "server":
        size = next((one for one in (2, 4, 8) if cards <= one), 8)
        return part_usd("chassis", f"server-{size}", today=today)
    return None
