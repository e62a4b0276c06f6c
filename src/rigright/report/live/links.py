"""The links of a live view: NVLink a card, network ports, then each NVLink; traffic and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import fsum
from operator import itemgetter

from rigright.base.units import GIGA
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.device import Device, Fabric
from rigright.machine.parts.network import BITS
from rigright.machine.sampling.ports import PortUse
from rigright.machine.tick import DeviceTick, LinkTick
from rigright.report.live import words
from rigright.report.live.pieces import GridColumn, Words, grid
from rigright.report.live.recent import LinksPast, Recent
from rigright.report.screen import Screen
from rigright.verbs.watch.watched import MachineMoment

_HEADS = (
    GridColumn(say("card"), 0, right=False, least=7),
    GridColumn(say("links up"), 1, least=8),
    GridColumn(say("received"), 2, least=11),
    GridColumn(say("sent"), 3, least=11),
    GridColumn(say("fabric"), 5, right=False, least=11),
    GridColumn(say("since start"), 4, least=3),
    GridColumn(say("link errors"), -1, right=False),
)
_WAYS = ("rx_bytes", "tx_bytes")


def draw(recent: Recent, moment: MachineMoment, *, screen: Screen) -> list[str]:
    """The head and a line for each."""
    machine = None if moment.detail is None else moment.detail.machine
    probed = {
        f"{'gpu' if device.vendor == 'nvidia' else device.vendor}{device.index}": device
        for device in (() if machine is None else machine.devices)
    }
    ports = () if moment.detail is None else moment.detail.ports
    return grid(_HEADS, rows(recent, moment.tick.devices, probed=probed, ports=ports), screen=screen)


def rows(
    recent: Recent,
    devices: Iterable[DeviceTick],
    *,
    probed: Mapping[str, Device],
    ports: Iterable[PortUse] = (),
) -> list[tuple[Words, ...]]:
    """A row for each card with links and each port, those of single links after them, bad ones first."""
    cards: list[tuple[Words, ...]] = []
    single: list[tuple[bool, tuple[Words, ...]]] = []
    for tick in devices:
        device, past = probed.get(tick.card), recent.links.get(tick.card)
        # as they were probed last, for drivers that are not asked at every moment
        known = (device and device.links) or ()
        now = (
            past.now
            if past
            else [LinkTick(index=each.index, is_up=each.active, errors=each.errors) for each in known]
        )
        if not now and tick.links_active is None:
            continue
        flows = [words.active(tick, f"nvlink_{way}_per_s") or _flow(past, now, way=way) for way in _WAYS]
        active = sum(bool(link.is_up) for link in now) if tick.links_active is None else tick.links_active
        up = f"{active}/{len(now)}" if now else str(active)
        fabric = _fabric(tick.fabric or (device and device.fabric) or None)
        cards.append((tick.card, up, *map(words.flow, flows), fabric, *_errors(past, now)))
        for link in now:
            state = words.NONE if link.is_up is None else say("up") if link.is_up else say("down")
            flows = [_flow(past, [link], way=way) for way in _WAYS]
            row = (f"{tick.card}:{link.index}", state, *map(words.flow, flows), "", *_errors(past, [link]))
            single.append((link.is_up is not False and not _counted([link]).total(), row))
    return [*cards, *map(_port, ports), *(row for _, row in sorted(single, key=itemgetter(0)))]


def _port(port: PortUse) -> tuple[Words, ...]:
    """A network port: what it carries and can carry, its errors."""
    rate = "" if port.bytes_per_s is None else f" {port.bytes_per_s * BITS / GIGA:g} Gb/s"
    return (
        *(port.name, port.state or words.NONE),
        *(words.flow(port.rx_bytes_per_s), words.flow(port.tx_bytes_per_s), port.kind + rate),
        words.NONE if port.new_errors is None else f"+{port.new_errors:,}",
        words.NONE if port.errors is None else f"{port.errors:,}",
    )


def _flow(past: LinksPast | None, links: Iterable[LinkTick], *, way: str) -> float | None:
    """Bytes a second over these links since they were read before; a counter that went back began anew."""
    if past is None or past.before is None or past.now_s <= past.before_s:
        return None
    before = {link.index: getattr(link, way) for link in past.before}
    pairs = [(getattr(link, way), before.get(link.index)) for link in links]
    moved = [now - was for now, was in pairs if now is not None and was is not None and now >= was]
    return fsum(moved) / (past.now_s - past.before_s) if moved else None


def _errors(past: LinksPast | None, links: Iterable[LinkTick]) -> tuple[str, str]:
    """How many were counted since the view began, and all of them by kind."""
    links = tuple(links)
    counted = _counted(links)
    if not counted:
        return words.NONE, words.NONE
    text = ", ".join(f"{name} {count:,}" for name, count in counted.items() if count)
    if past is None:
        return words.NONE, text or "0"
    chosen = {link.index for link in links}
    first = _counted(link for link in past.first if link.index in chosen)
    new = sum(max(count - first[name], 0) for name, count in counted.items() if name in first)
    return f"+{new:,}", text or "0"


def _counted(links: Iterable[LinkTick]) -> Counter[str]:
    fields: Counter[str] = Counter()
    for link in links:
        for name, count in link.errors:
            fields[name] += count
    return fields


def _fabric(fabric: Fabric | None) -> Sentence | str:
    if fabric is None:
        return words.NONE
    texts = [text for text in (fabric.state, fabric.health, fabric.bandwidth) if text]
    return with_commas(texts) or words.NONE
