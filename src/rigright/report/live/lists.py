"""What the live view lists: cards, the programs on them, their links. A column is a row of a table here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from math import fsum
from operator import attrgetter
from typing import Any

from rigright.base.page import Strip, Tone
from rigright.base.units import GIGA
from rigright.base.words import CHINESE, clean, say, tell, with_commas
from rigright.machine.device import Fabric, Program
from rigright.machine.parts.network import BITS
from rigright.machine.sampling.programs import ProgramUse
from rigright.machine.tick import DeviceTick, LinkTick, card_parts
from rigright.report import readings
from rigright.report.charts import blocks
from rigright.report.live.recent import LinkReading, Recent
from rigright.report.readings import NONE, Words
from rigright.report.screen import Screen, cut_to, pad, toned, width
from rigright.verbs.watch.record import Detail, MachineMoment

_PICTURE = 20  # cells
_LEAST_LAST = 16  # cells of the last column of a list, before another column goes
_MOST_CELLS = 24  # of any other column


@dataclass(frozen=True, slots=True)
class ListColumn:
    """One column of a list, and what its rows may be sorted by."""

    head: Words
    read: Callable[[Any], Any]  # of a row
    show: Callable[[Any], Words]
    rank: int  # where there is no room the highest goes first
    least: int  # cells, so that columns stay where they are while rows change
    right: bool = True
    optional: bool = False  # left out where no row has it
    order: str = ""  # the name under which the view sorts by it; none: it does not
    rising: bool = False  # sorted upwards unless reversed

    def text(self, row: object) -> Words:
        """What is shown of a row."""
        return self.show(self.read(row))


def _as_read(value: Words) -> Words:
    return value


def text_of(sentence: Words, screen: Screen) -> str:
    """A sentence or foreign text as this screen can show it; each letter as wide as it is counted."""
    text = clean(tell(sentence, screen.language))
    if screen.unicode or text.isascii():
        return text
    text = text.replace("°C", "C").replace("\N{HORIZONTAL ELLIPSIS}", "~")
    return text if screen.language == CHINESE else text.encode("ascii", "replace").decode()


def line_of(sentence: Words, screen: Screen, *, tone: Tone = "plain") -> str:
    """A sentence on one line, cut to the screen."""
    return toned(cut_to(text_of(sentence, screen), screen.width, screen=screen), tone, screen=screen)


def draw_list(
    columns: Sequence[ListColumn], rows: Sequence[object], *, screen: Screen, tones: Sequence[Tone] = ()
) -> list[str]:
    """The head, then a line for each row; columns that find no room are left out, the last is cut."""
    texts = {
        column: [text_of(text, screen) for text in (column.head, *map(column.text, rows))]
        for column in columns
    }
    last = columns[-1]
    wide = {column: max(column.least, *map(width, texts[column])) for column in columns}
    wide = {column: min(cells, _MOST_CELLS) for column, cells in wide.items()}
    wide[last] = min(last.least or _LEAST_LAST, max(map(width, texts[last])))
    shown = [column for column in columns if not column.optional or {*texts[column][1:]} - {NONE}]
    while shown[2:] and sum(wide[column] + 2 for column in shown) - 2 > screen.width:
        shown.remove(max(shown[:-1], key=lambda column: column.rank))
    wide[last] = screen.width - sum(wide[column] + 2 for column in shown[:-1])
    cells = [
        [
            pad(cut_to(text, wide[column], screen=screen), wide[column], right=column.right)
            for text in texts[column]
        ]
        for column in shown
    ]
    lines = ["  ".join(line).rstrip() for line in zip(*cells, strict=True)]
    return [
        toned(cut_to(line, screen.width, screen=screen), tone, screen=screen)
        for line, tone in zip(lines, ("dim", *(tones or ["plain"] * len(rows))), strict=True)
    ]


# cards

_memory = attrgetter("mem_used_bytes", "mem_total_bytes")
_power = attrgetter("power_w", "power_limit_w")
FIGURES = (  # of a card, wherever it is shown
    ListColumn(say("busy"), attrgetter("busy_share"), readings.share, 1, 5),
    ListColumn(say("VRAM"), _memory, lambda pair: readings.memory(*pair), 2, 13),
    ListColumn(say("power"), _power, lambda pair: readings.power(*pair), 4, 9),
    ListColumn(say("heat"), attrgetter("gpu_c"), readings.celsius, 3, 6),
    ListColumn(say("clock"), attrgetter("sm_hz"), readings.clock_rate, 8, 8, optional=True),
)
_CARD = ListColumn(say("card"), attrgetter("card"), _as_read, 0, 5, right=False)
_ACTIVITIES = (  # of cards whose driver counts them
    ListColumn("SM", partial(readings.active, what="sm_share"), readings.share, 5, 5, optional=True),
    ListColumn(
        say("tensor"), partial(readings.active, what="tensor_share"), readings.share, 6, 6, optional=True
    ),
    ListColumn("DRAM", partial(readings.active, what="dram_share"), readings.share, 9, 5, optional=True),
)


def draw_cards(recent: Recent, devices: tuple[DeviceTick, ...], *, screen: Screen, room: int) -> list[str]:
    """Every card, or as many as there is room for: those in trouble before the others."""
    if not devices:
        return []
    shown = devices
    if len(devices) + 1 > room:
        shown = tuple(sorted(devices, key=lambda card: _state(card)[0] == ""))[: max(room - 2, 1)]

    def picture(card: DeviceTick) -> str:
        """The last loads, one a cell, the newest at the right."""
        strip = Strip(label="", values=recent.past(card.card, _PICTURE), shown="", high=1.0)
        return blocks(strip, _PICTURE, screen=screen).rjust(_PICTURE)

    load = ListColumn(say("recent load"), picture, _as_read, 7, _PICTURE, right=False)
    state = ListColumn(say("state"), _state, lambda state: state[0], 0, 26, right=False)
    columns = (_CARD, *FIGURES, *_ACTIVITIES, load, state)
    lines = draw_list(columns, shown, screen=screen, tones=[_state(card)[1] for card in shown])
    if len(shown) < len(devices):
        more = say("and {count} more GPUs", count=len(devices) - len(shown))
        lines.append(line_of(more, screen, tone="dim"))
    return lines[-room:]


def _state(device: DeviceTick) -> tuple[Words, Tone]:
    """The worst that is wrong with a card."""
    return readings.trouble(device) or readings.slowed_by(device) or ("", "plain")


def cards_of(cards: Iterable[str]) -> str:
    """Cards in short: "gpu0-3", "gpu0,5"; in the order they stand."""
    parts, before = [], ""
    for _, run in groupby(
        enumerate(map(card_parts, cards)), key=lambda pair: (pair[1][0], pair[1][1] - pair[0])
    ):
        members = [card for _, card in run]
        (kind, low), (_, high) = members[0], members[-1]
        front = "" if kind == before else kind
        parts.append(f"{front}{low}" if low == high else f"{front}{low}-{high}")
        before = kind
    return ",".join(parts)


# programs


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRow:
    """One program, over all cards that it holds memory of."""

    pid: int
    user: str | None
    command: str | None
    cards: tuple[str, ...]
    mem_bytes: float | None
    sm_share: float | None
    use: ProgramUse


_text = readings.or_dash(str)
PROGRAM_COLUMNS = (
    ListColumn(say("GPU"), attrgetter("cards"), cards_of, 1, 5, right=False),
    ListColumn(say("PID"), attrgetter("pid"), str, 2, 7, order="pid", rising=True),
    ListColumn(say("user"), attrgetter("user"), _text, 4, 8, right=False, order="user", rising=True),
    ListColumn(say("GPU mem"), attrgetter("mem_bytes"), readings.size, 0, 9, order="memory"),
    ListColumn("SM", attrgetter("sm_share"), readings.share, 3, 5, order="sm"),
    ListColumn("CPU", attrgetter("use.cpu_share"), readings.share, 5, 6, order="cpu"),
    ListColumn(say("host mem"), attrgetter("use.mem_bytes"), readings.size, 7, 9, order="ram"),
    ListColumn(say("time"), attrgetter("use.run_s"), readings.duration, 6, 7, order="time"),
    ListColumn(say("command"), attrgetter("command"), _text, 0, 0, right=False, order="command", rising=True),
)
ORDERS: Mapping[str, ListColumn] = {column.order: column for column in PROGRAM_COLUMNS if column.order}


def program_rows(
    moment: MachineMoment, *, sort: str = "memory", reverse: bool = False, words: str = ""
) -> list[ProgramRow]:
    """Programs that the filter lets through, in the order asked for; equal ones as the driver lists them."""
    programs: dict[int, list[tuple[str, Program]]] = {}
    for device in moment.tick.devices:
        for program in device.programs or ():
            programs.setdefault(program.pid, []).append((device.card, program))
    uses = (moment.detail or Detail()).uses
    rows = [_program_row(pid, parts, use=uses.get(pid, ProgramUse())) for pid, parts in programs.items()]
    rows = [row for row in rows if _matches(row, words)]
    column = ORDERS[sort]
    known = [row for row in rows if column.read(row) is not None]
    known.sort(key=column.read, reverse=column.rising == reverse)
    return known + [row for row in rows if column.read(row) is None]


def _program_row(pid: int, parts: list[tuple[str, Program]], *, use: ProgramUse) -> ProgramRow:
    first = parts[0][1]
    sizes = [program.mem_bytes for _, program in parts if program.mem_bytes is not None]
    shares = [program.sm_share for _, program in parts if program.sm_share is not None]
    file, space, rest = (use.command or first.name or "").partition(" ")
    return ProgramRow(
        pid=pid,
        user=first.user,
        command=(re.split(r"[/\\]", file)[-1] or file) + space + rest or None,  # without the file's folder
        cards=tuple(card for card, _ in parts),
        mem_bytes=fsum(sizes) if sizes else None,
        sm_share=sum(shares) / len(shares) if shares else None,
        use=use,
    )


def _matches(row: ProgramRow, text: str) -> bool:
    """Every word of the filter: `user:ada`, `gpu:3`, or a part of the command, the user or the number."""
    user = (row.user or "").casefold()
    cards = {*row.cards, *(str(card_parts(card)[1]) for card in row.cards)}
    whole = f"{row.pid} {user} {row.command or ''}".casefold()

    def fits(word: str) -> bool:
        if word.startswith("user:"):
            return word.removeprefix("user:") in user
        return word.removeprefix("gpu:") in cards if word.startswith("gpu:") else word in whole

    return all(map(fits, text.casefold().split()))


# links


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """A card's links together, one of them, or a network port."""

    name: str
    up: Words
    rx_bytes_per_s: float | None
    tx_bytes_per_s: float | None
    fabric: Words = ""
    new_errors: int | None = None  # since the view began
    errors: str | None = None  # all of them by kind


LINK_COLUMNS = (
    ListColumn(say("card"), attrgetter("name"), _as_read, 0, 7, right=False),
    ListColumn(say("links up"), attrgetter("up"), _as_read, 1, 8),
    ListColumn(say("received"), attrgetter("rx_bytes_per_s"), readings.flow, 2, 11),
    ListColumn(say("sent"), attrgetter("tx_bytes_per_s"), readings.flow, 3, 11),
    ListColumn(say("fabric"), attrgetter("fabric"), _as_read, 5, 11, right=False),
    ListColumn(say("since start"), attrgetter("new_errors"), readings.growth, 4, 3),
    ListColumn(say("link errors"), attrgetter("errors"), _text, 0, 0, right=False),
)


def link_rows(recent: Recent, moment: MachineMoment) -> Iterator[LinkRow]:
    """A row for each card with links and each port, those of single links after them, bad ones first."""
    detail = moment.detail or Detail()
    devices = () if detail.machine is None else detail.machine.devices
    probed = {DeviceTick(index=device.index, vendor=device.vendor).card: device for device in devices}
    fine: dict[bool, list[LinkRow]] = {False: [], True: []}
    for tick in moment.tick.devices:
        device, past = probed.get(tick.card), recent.links.get(tick.card, [])
        links = past[-1][1] if past else ()
        if not past and device is not None:  # as probed last, for drivers that are not asked at every moment
            known = device.links or ()
            links = tuple(LinkTick(index=item.index, is_up=item.active, errors=item.errors) for item in known)
        if not links and tick.links_active is None:
            continue
        active = sum(bool(link.is_up) for link in links) if tick.links_active is None else tick.links_active
        fabric = _fabric(tick.fabric or (None if device is None else device.fabric))
        up = f"{active}/{len(links)}" if links else str(active)
        yield replace(_link_row(tick.card, links, past=past, up=up, tick=tick), fabric=fabric)
        for link in links:
            works = link.is_up is not False and not _counts((link,)).total()
            state = NONE if link.is_up is None else say("up") if link.is_up else say("down")
            fine[works].append(_link_row(f"{tick.card}:{link.index}", (link,), past=past, up=state))
    for port in detail.ports:
        rate = "" if port.bytes_per_s is None else f" {port.bytes_per_s * BITS / GIGA:g} Gb/s"
        yield LinkRow(
            name=port.name,
            up=port.state or NONE,
            rx_bytes_per_s=port.rx_bytes_per_s,
            tx_bytes_per_s=port.tx_bytes_per_s,
            fabric=port.kind + rate,
            new_errors=port.new_errors,
            errors=None if port.errors is None else f"{port.errors:,}",
        )
    yield from (*fine[False], *fine[True])


def _link_row(
    name: str,
    links: tuple[LinkTick, ...],
    *,
    past: list[LinkReading],
    up: Words,
    tick: DeviceTick | None = None,
) -> LinkRow:
    """These links of a card; of all of them, at `tick`, the driver may count the rate itself."""
    received, sent = (
        (tick and readings.active(tick, f"nvlink_{way}_per_s")) or _rate(past, links, way=way)
        for way in ("rx_bytes", "tx_bytes")
    )
    counts, chosen = _counts(links), {link.index for link in links}
    first = _counts(link for link in past[0][1] if link.index in chosen) if past else None
    new = None
    if counts and first is not None:
        new = sum(max(number - first[kind], 0) for kind, number in counts.items() if kind in first)
    errors = ", ".join(f"{kind} {number:,}" for kind, number in counts.items() if number)
    return LinkRow(
        name=name,
        up=up,
        rx_bytes_per_s=received,
        tx_bytes_per_s=sent,
        new_errors=new,
        errors=(errors or "0") if counts else None,
    )


def _rate(past: list[LinkReading], links: Iterable[LinkTick], *, way: str) -> float | None:
    """Bytes a second over these links since they were read before; a counter that went back began anew."""
    if len(past) < 2 or past[-1][0] <= past[-2][0]:
        return None
    before = {link.index: getattr(link, way) for link in past[-2][1]}
    pairs = [(getattr(link, way), before.get(link.index)) for link in links]
    moved = [now - was for now, was in pairs if now is not None and was is not None and now >= was]
    return fsum(moved) / (past[-1][0] - past[-2][0]) if moved else None


def _counts(links: Iterable[LinkTick]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for link in links:
        counts.update(dict(link.errors))
    return counts


def _fabric(fabric: Fabric | None) -> Words:
    if fabric is None:
        return NONE
    return with_commas(filter(None, (fabric.state, fabric.health, fabric.bandwidth))) or NONE
