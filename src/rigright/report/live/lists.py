"""What the live view lists: cards, the programs on them, their links; a line each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import fsum
from operator import itemgetter
from typing import Any, cast

from rigright.base.page import Tone
from rigright.base.units import GIGA, show_bytes, show_seconds
from rigright.base.words import Sentence, say, with_commas
from rigright.machine.device import Device, Fabric, Program
from rigright.machine.parts.network import BITS
from rigright.machine.sampling.ports import PortUse
from rigright.machine.sampling.programs import ProgramUse
from rigright.machine.tick import DeviceTick, LinkTick
from rigright.report.live import words
from rigright.report.live.pieces import PICTURE, GridColumn, Words, grid, line_of, picture
from rigright.report.live.recent import LinksPast, Recent
from rigright.report.live.state import RISING, View
from rigright.report.screen import Screen
from rigright.verbs.watch.watched import MachineMoment

_CARD_COLUMNS = (
    GridColumn(say("card"), 0, right=False, least=5),
    GridColumn(say("busy"), 1, least=5),
    GridColumn(say("memory"), 2, least=13),
    GridColumn(say("heat"), 3, least=6),
    GridColumn(say("power"), 4, least=9),
    GridColumn("SM", 5, least=5),
    GridColumn(say("tensor"), 6, least=6),
    GridColumn("DRAM", 9, least=5),
    GridColumn(say("SM clock"), 8, least=8),
    GridColumn(say("recent load"), 7, right=False, least=PICTURE),
    GridColumn(say("state"), -1, right=False, least=26),
)


def draw_cards(recent: Recent, devices: tuple[DeviceTick, ...], *, screen: Screen, room: int) -> list[str]:
    """Every card, or as many as there is room for: those in trouble before the others."""
    if not devices:
        return [line_of(say("no GPU listed by a driver"), screen, tone="dim")][:room]
    shown = devices
    if len(devices) + 1 > room:
        shown = tuple(sorted(devices, key=lambda tick: _card_state(tick)[0] == ""))[: max(room - 2, 1)]
    rows = [
        (*_card_figures(device), picture(recent.past(device.card), screen), _card_state(device)[0])
        for device in shown
    ]
    kept = [
        place
        for place in range(len(_CARD_COLUMNS))
        if place < 5 or {row[place] for row in rows} != {words.NONE}
    ]
    lines = grid(
        [_CARD_COLUMNS[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        screen=screen,
        tones=[_card_state(device)[1] for device in shown],
    )
    if len(shown) < len(devices):
        more = say("and {count} more GPUs", count=len(devices) - len(shown))
        lines.append(line_of(more, screen, tone="dim"))
    return lines[-room:] if room < len(lines) else lines


def _card_figures(device: DeviceTick) -> tuple[Words, ...]:
    shares = [words.active(device, name) for name in ("sm_share", "tensor_share", "dram_share")]
    return (
        *(device.card, words.share(device.busy_share)),
        words.memory(device.mem_used_bytes, device.mem_total_bytes),
        *(words.celsius(device.gpu_c), words.power(device.power_w, device.power_limit_w)),
        *(*map(words.share, shares), words.clock(device.sm_hz)),
    )


def _card_state(device: DeviceTick) -> tuple[Words, Tone]:
    """The worst that is wrong with a card."""
    return words.trouble(device) or words.slowed_by(device) or ("", "plain")


_PROGRAM_COLUMNS = (
    GridColumn(say("GPU"), 1, right=False, least=5),
    GridColumn(say("PID"), 2, least=7),
    GridColumn(say("user"), 4, right=False, least=8),
    GridColumn(say("GPU mem"), 0, least=9),
    GridColumn("SM", 3, least=5),
    GridColumn("CPU", 5, least=6),
    GridColumn(say("host mem"), 7, least=9),
    GridColumn(say("time"), 6, least=7),
    GridColumn(say("command"), -1, right=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRow:
    """One program, over all cards that it holds memory of."""

    pid: int
    user: str | None
    name: str
    cards: tuple[str, ...]
    mem_bytes: float | None
    sm_share: float | None
    use: ProgramUse


def program_rows(moment: MachineMoment, view: View) -> list[ProgramRow]:
    """Programs that the filter lets through, in the order asked for; equal ones as the driver lists them."""
    programs: dict[int, list[tuple[str, Program]]] = {}
    for device in moment.tick.devices:
        for program in device.programs or ():
            programs.setdefault(program.pid, []).append((device.card, program))
    uses: Mapping[int, ProgramUse] = {} if moment.detail is None else moment.detail.uses
    listed = [_row(pid, ones, use=uses.get(pid, ProgramUse())) for pid, ones in programs.items()]
    wanted = [row for row in listed if _wanted(row, view.words)]
    read = _KEYS[view.sort]
    known = [row for row in wanted if read(row) is not None]
    known.sort(key=lambda row: cast("Any", read(row)), reverse=(view.sort in RISING) == view.reverse)
    return known + [row for row in wanted if read(row) is None]


def _row(pid: int, ones: list[tuple[str, Program]], *, use: ProgramUse) -> ProgramRow:
    first = ones[0][1]
    sizes = [item.mem_bytes for _, item in ones if item.mem_bytes is not None]
    shares = [item.sm_share for _, item in ones if item.sm_share is not None]
    program, space, rest = (use.command or first.name or words.NONE).partition(" ")
    return ProgramRow(
        pid=pid,
        user=first.user,
        name=(re.split(r"[/\\]", program)[-1] or program) + space + rest,  # without the program's folder
        cards=tuple(card for card, _ in ones),
        mem_bytes=fsum(sizes) if sizes else None,
        sm_share=sum(shares) / len(shares) if shares else None,
        use=use,
    )


def _wanted(row: ProgramRow, text: str) -> bool:
    """Every word of the filter: `user:ada`, `gpu:3`, or a part of the command, the user or the number."""
    numbers = {card.lstrip("abcdefghijklmnopqrstuvwxyz") for card in row.cards}
    whole = f"{row.pid} {row.user or ''} {row.name}".casefold()
    for word in text.casefold().split():
        value = word.partition(":")[2]
        if word.startswith("user:"):
            fits = value in (row.user or "").casefold()
        elif word.startswith("gpu:"):
            fits = value in {*row.cards, *numbers}
        else:
            fits = word in whole
        if not fits:
            return False
    return True


def draw_programs(listed: Iterable[ProgramRow], *, screen: Screen) -> list[str]:
    """The head and a line for each."""
    shown = [
        (
            *(cards_of(row.cards), str(row.pid), row.user or words.NONE, _size(row.mem_bytes)),
            *(words.share(row.sm_share), words.share(row.use.cpu_share), _size(row.use.mem_bytes)),
            *(words.NONE if row.use.run_s is None else show_seconds(row.use.run_s), row.name),
        )
        for row in listed
    ]
    return grid(_PROGRAM_COLUMNS, shown, screen=screen)


def _size(size: float | None) -> str:
    return words.NONE if size is None else show_bytes(size)


def cards_of(cards: Iterable[str]) -> str:
    """Cards in short: "gpu0-3", "gpu0,5"; in the order they stand."""
    split = [(kind := card.rstrip("0123456789"), int(card[len(kind) :] or 0)) for card in cards]
    parts, before = [], ""
    for _, run in groupby(enumerate(split), key=lambda pair: (pair[1][0], pair[1][1] - pair[0])):
        members = [card for _, card in run]
        (kind, low), (_, high) = members[0], members[-1]
        front = "" if kind == before else kind
        parts.append(f"{front}{low}" if low == high else f"{front}{low}-{high}")
        before = kind
    return ",".join(parts)


_KEYS: Mapping[str, Callable[[ProgramRow], float | str | None]] = {
    "memory": lambda row: row.mem_bytes,
    "sm": lambda row: row.sm_share,
    "user": lambda row: row.user,
    "pid": lambda row: row.pid,
    "time": lambda row: row.use.run_s,
    "cpu": lambda row: row.use.cpu_share,
}
SORTED: Mapping[str, Sentence] = {
    "memory": say("GPU memory"),
    "sm": say("SM use"),
    "user": say("user"),
    "pid": say("PID"),
    "time": say("run time"),
    "cpu": say("CPU use"),
}


_LINK_COLUMNS = (
    GridColumn(say("card"), 0, right=False, least=7),
    GridColumn(say("links up"), 1, least=8),
    GridColumn(say("received"), 2, least=11),
    GridColumn(say("sent"), 3, least=11),
    GridColumn(say("fabric"), 5, right=False, least=11),
    GridColumn(say("since start"), 4, least=3),
    GridColumn(say("link errors"), -1, right=False),
)
_WAYS = ("rx_bytes", "tx_bytes")


def draw_links(recent: Recent, moment: MachineMoment, *, screen: Screen) -> list[str]:
    """The head and a line for each."""
    machine = None if moment.detail is None else moment.detail.machine
    probed = {
        f"{'gpu' if device.vendor == 'nvidia' else device.vendor}{device.index}": device
        for device in (() if machine is None else machine.devices)
    }
    ports = () if moment.detail is None else moment.detail.ports
    return grid(
        _LINK_COLUMNS, link_rows(recent, moment.tick.devices, probed=probed, ports=ports), screen=screen
    )


def link_rows(
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
    counts: Counter[str] = Counter()
    for link in links:
        for name, count in link.errors:
            counts[name] += count
    return counts


def _fabric(fabric: Fabric | None) -> Sentence | str:
    if fabric is None:
        return words.NONE
    texts = [text for text in (fabric.state, fabric.health, fabric.bandwidth) if text]
    return with_commas(texts) or words.NONE
