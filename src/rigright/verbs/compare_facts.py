"""Things side by side without a model: what is stated of each, as buyers' guides list it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from rigright.base.errors import AskError
from rigright.base.everyday import paid
from rigright.base.words import say
from rigright.cost.estimate import Estimate, scaled
from rigright.facts.chips import Chip, by_id, short
from rigright.facts.clouds import offers, providers_of
from rigright.facts.cpus import CpuModel, cpu_named
from rigright.facts.find import names_chip
from rigright.facts.hosts import Host, host_chip
from rigright.facts.nodes import Node, find_node
from rigright.money.prices import priced, quote_of
from rigright.verbs.comparing.sheets import CPU_KIND, GPU_KIND, Band, Sheet, Sheets, leads_of
from rigright.verbs.comparing.things import check_count, not_a_machine
from rigright.verbs.own import today

FIGURES = ("mem_bytes", "mem_bytes_per_s", "half_flops_per_s", "power_w", "usd", "usd_per_h")  # of a verdict


def compare_facts(
    asked: Sequence[str], *, currency: str = "USD", used: bool = False, command: str = ""
) -> Sheets:
    """Lay the facts of cards and processors side by side."""
    check_count(tuple(asked))
    nodes = [_node(name) for name in asked]
    day = today()
    sheets = tuple(
        _sheet(name, node, day=day, currency=currency, used=used or _USED.get(paid(name)[0] or ""))
        for name, node in zip(asked, nodes, strict=True)
    )
    notes = tuple(dict.fromkeys(note for node in nodes if not node.has_no_cards for note in node.notes))
    names = [sheet.name for sheet in sheets]
    sheets = tuple(replace(row, name=row.asked) if names.count(row.name) > 1 else row for row in sheets)
    known = [
        (sheet.name, {name: band for name in FIGURES if (band := _band(sheet, name)) is not None})
        for sheet in sheets
    ]
    used_at = [place for place, sheet in enumerate(sheets) if sheet.used]
    leads = tuple(
        lead for lead in leads_of(known, FIGURES, used=used_at, least=len(sheets)) if lead.than is None
    )
    return Sheets(things=sheets, leads=leads, currency=currency, notes=notes, asked=command)


def _node(asked: str) -> Node:
    """The cards or the processor of a name; a mix of cards has no one sheet."""
    if providers_of(asked):
        raise AskError(
            say('"{name}" is a cloud: it has many machines', name=asked),
            hint=say("name an instance, or add --for MODEL"),
        )
    try:
        node = find_node(paid(asked)[1])
    except AskError as error:
        raise not_a_machine(asked) or error from None
    if node.is_mixed:
        raise AskError(
            say('"{name}" has several kinds of cards', name=asked),
            hint=say("name each by itself, or add --for MODEL"),
        )
    return node


def _sheet(asked: str, node: Node, *, day: date, currency: str, used: bool | None) -> Sheet:
    if node.has_no_cards and node.host is not None:
        return _processor(asked, node.host)
    devices = node.cards[0].chip
    chip = devices if devices.is_instance else by_id().get(devices.id, devices)
    count = max(node.n_cards // chip.devices, 1)
    quote = quote_of(chip, today=day, currency=currency, used=used)
    price = None if quote is None else priced(quote, day)
    return Sheet(
        asked=asked,
        name=short(chip.name) if count == 1 else f"{count}x {short(chip.name)}",
        kind=GPU_KIND,
        n_chips=count,
        architecture=chip.architecture,
        cores=None if chip.cores is None else chip.cores * count,
        mem_bytes=chip.mem_bytes * count,
        mem_type=chip.mem_type,
        mem_bytes_per_s=chip.mem_bytes_per_s * count,
        fp32_flops_per_s=_times(chip.fp32_flops_per_s, count),
        half_flops_per_s=_times(chip.training_flops_per_s, count),
        fp8_flops_per_s=_times(chip.fp8_acc32_flops_per_s, count),
        fp4_flops_per_s=_times(chip.fp4_flops_per_s, count),
        int8_ops_per_s=_times(chip.int8_ops_per_s, count),
        power_w=_times(chip.tdp_w, count),
        link=chip.link if (chip.link_max_chips or 1) > 1 else None,
        link_bytes_per_s=chip.link_both_ways_bytes_per_s if (chip.link_max_chips or 1) > 1 else None,
        pcie_gen=chip.pcie_gen,
        pcie_lanes=chip.pcie_lanes,
        usd=None if price is None or paid(asked)[0] == "rent" else scaled(price, count),
        usd_per_h=_rent(asked, chip=chip, count=count),
        used=None if quote is None else quote.used,
        launch=chip.launch or None,
        made_for=_MADE_FOR.get(chip.segment, chip.segment),
    )


_USED = {"used": True, "new": False}
_MADE_FOR = {"consumer": "desktop", "datacenter": "server"}


def _processor(asked: str, host: Host) -> Sheet:
    """A processor as cards are listed: what its vectors do in 32 bit, and what it costs by itself."""
    chip, count, row = host_chip(host), host.sockets, cpu_named(host.cpu.name)
    return Sheet(
        asked=asked,
        name=host.cpu.name if count == 1 else f"{count}x {host.cpu.name}",
        kind=CPU_KIND,
        n_chips=count,
        architecture=host.cpu.architecture,
        cores=host.cpu.cores * count,
        mem_bytes=None if row is None else row.mem_max_bytes * count,
        mem_type=host.ram_kind,
        mem_bytes_per_s=chip.mem_bytes_per_s,
        fp32_flops_per_s=chip.fp32_flops_per_s,
        half_flops_per_s=chip.fp32_flops_per_s,
        power_w=host.cpu.tdp_w * count,
        pcie_gen=host.cpu.pcie_gen,
        pcie_lanes=host.cpu.pcie_lanes,
        usd=None if row is None else _street(row, count),
        used=None if row is None else False,
        made_for="host",
    )


def _street(row: CpuModel, count: int) -> Estimate | None:
    """What a processor goes for, with its date; its maker's list price where no shop says."""
    as_of = row.street_as_of if row.street_price_usd else row.as_of
    usd = row.street_price_usd or row.list_price_usd
    return None if usd is None else _stated(usd * count, as_of=as_of, source=row.source)


def _stated(usd: float, *, as_of: str | None, source: str) -> Estimate:
    return Estimate(value=usd, low=usd, high=usd, mark="stated", as_of=as_of, why=source)


def _rent(asked: str, *, chip: Chip, count: int) -> Estimate | None:
    """The cheapest rent on demand of an instance by its name, or of cards that are said to be rented."""
    way, name = paid(asked)
    provider, _, name = name.strip().rpartition(":")
    there = [
        (offer.usd_per_h * (count / offer.n_chips if way else 1), offer)
        for offer in offers()
        if offer.usd_per_h is not None and (not provider or offer.provider in providers_of(provider))
        if (offer.chip == chip.id if way == "rent" else offer.instance.casefold() == name.casefold())
    ]
    if not there or way == "buy" or (not way and not provider and names_chip(name)):
        return None
    usd, offer = min(there, key=lambda row: row[0])
    return _stated(usd, as_of=offer.as_of, source=offer.source)


def _times(value: float | None, count: int) -> float | None:
    return None if value is None else value * count


def _band(sheet: Sheet, figure: str) -> Band | None:
    """A figure with its lower and upper end; what is stated has none."""
    value = getattr(sheet, figure)
    if isinstance(value, Estimate):
        return value.value, value.low, value.high
    return None if value is None else (value, value, value)
