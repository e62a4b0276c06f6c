"""The NVLinks of a live view: each card with all its links, then each link: its traffic and its errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import fsum

from rigright.base.words import Sentence, say, with_commas
from rigright.machine.device import Device, Fabric
from rigright.machine.tick import DeviceTick, LinkTick
from rigright.report.live import words
from rigright.report.live.pieces import GridColumn, Words
from rigright.report.live.recent import LinksPast, Recent

HEADS = (
    GridColumn(say("card"), 0, right=False, least=7),
    GridColumn(say("links up"), 1, least=8),
    GridColumn(say("received"), 2, least=11),
    GridColumn(say("sent"), 3, least=11),
    GridColumn(say("fabric"), 5, right=False, least=11),
    GridColumn(say("since start"), 4, least=3),
    GridColumn(say("link errors"), -1, right=False),
)


def rows(
    recent: Recent, devices: Iterable[DeviceTick], *, probed: Mapping[str, Device]
) -> list[tuple[Words, ...]]:
    """A row for each card with links, those of single links after them: the ones to look at first."""
    cards: list[tuple[Words, ...]] = []
    ill: list[tuple[Words, ...]] = []
    well: list[tuple[Words, ...]] = []
    for one in devices:
        device, past = probed.get(one.card), recent.links.get(one.card)
        now = past.now if past else _as_ticks(device)
        if not now and one.links_active is None:
            continue
        flows = [
            words.active(one, name) or _flow(past, now, read=read)
            for name, read in (("nvlink_rx_bytes_per_s", _rx), ("nvlink_tx_bytes_per_s", _tx))
        ]
        active = sum(bool(link.is_up) for link in now) if one.links_active is None else one.links_active
        up = f"{active}/{len(now)}" if now else str(active)
        fabric = _fabric(one.fabric or (device and device.fabric) or None)
        cards.append((one.card, up, *map(words.flow, flows), fabric, *_errors(past, now)))
        for link in now:
            flows = [_flow(past, [link], read=read) for read in (_rx, _tx)]
            row = (f"{one.card}:{link.index}", _up(link), *map(words.flow, flows), "", *_errors(past, [link]))
            (ill if link.is_up is False or _counted([link]).total() else well).append(row)
    return [*cards, *ill, *well]


def _as_ticks(device: Device | None) -> tuple[LinkTick, ...]:
    """Links as they were probed last, for drivers that are not asked at every moment."""
    links = () if device is None else device.links or ()
    return tuple(LinkTick(index=link.index, is_up=link.active, errors=link.errors) for link in links)


def _rx(link: LinkTick) -> float | None:
    return link.rx_bytes


def _tx(link: LinkTick) -> float | None:
    return link.tx_bytes


def _flow(
    past: LinksPast | None, links: Iterable[LinkTick], *, read: Callable[[LinkTick], float | None]
) -> float | None:
    """Bytes a second over these links since they were read before; a counter that went back began anew."""
    if past is None or past.before is None or past.now_s <= past.before_s:
        return None
    before = {link.index: read(link) for link in past.before}
    moved = [
        count - was
        for link in links
        if (count := read(link)) is not None and (was := before.get(link.index)) is not None and count >= was
    ]
    return fsum(moved) / (past.now_s - past.before_s) if moved else None


def _errors(past: LinksPast | None, links: Iterable[LinkTick]) -> tuple[str, str]:
    """How many were counted since the view began, and all of them by kind."""
    links = tuple(links)
    counted = _counted(links)
    if not counted:
        return words.NONE, words.NONE
    told = ", ".join(f"{name} {count:,}" for name, count in counted.items() if count)
    if past is None:
        return words.NONE, told or "0"
    chosen = {link.index for link in links}
    first = _counted(link for link in past.first if link.index in chosen)
    new = sum(max(count - first[name], 0) for name, count in counted.items() if name in first)
    return f"+{new:,}", told or "0"


def _counted(links: Iterable[LinkTick]) -> Counter[str]:
    found: Counter[str] = Counter()
    for link in links:
        for name, count in link.errors:
            found[name] += count
    return found


def _up(link: LinkTick) -> Words:
    return words.NONE if link.is_up is None else say("up") if link.is_up else say("down")


def _fabric(fabric: Fabric | None) -> Sentence | str:
    if fabric is None:
        return words.NONE
    found = [one for one in (fabric.state, fabric.health, fabric.bandwidth) if one]
    return with_commas(found) or words.NONE
