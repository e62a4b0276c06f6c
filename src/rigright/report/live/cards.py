"""The cards of a live view: on three lines each where there is room, else in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rigright.base.page import Tone
from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.machine.tick import DeviceTick
from rigright.report.cells import pad, width
from rigright.report.draw.ink import toned
from rigright.report.live import words
from rigright.report.live.pieces import (
    LEAST_PICTURE,
    MOST_PICTURE,
    Past,
    Words,
    cut_to,
    line_of,
    meter,
    picture,
    told,
)
from rigright.report.live.recent import Recent
from rigright.report.screen import Screen
from rigright.verbs.watch.watched import MachineMoment

_ROOMY = 72  # cells from which cards may be drawn large, and a table has a picture
_LEAST_WRONG = 26  # cells of what is wrong with a card
_PICTURED = 16  # cells of a picture, before another column is shown
_METER = 8  # cells of a bar
_INDENT = 2  # of what is told below a card
_CARD_LINES = 3  # of a card drawn large
_REST_LINES = 6  # for host, programs and events, so that large cards leave room for them


def draw_cards(recent: Recent, moment: MachineMoment, *, screen: Screen, room: int) -> list[str]:
    """Every card, or as many as there is room for: those in trouble before the others."""
    devices = moment.tick.devices
    if not devices:
        return [line_of(say("no GPU listed by a driver"), screen, tone="dim")]
    if len(devices) * _CARD_LINES + _REST_LINES <= room and screen.width >= _ROOMY:
        return [line for device in devices for line in _large(recent, device, screen=screen)]
    if len(devices) <= room:
        head, *rows = _table(recent, moment, devices=devices, screen=screen)
        return [head, *rows] if len(devices) < room else rows
    ordered = sorted(devices, key=lambda one: _wrong(one, screen) is None)
    shown = ordered[: max(room - 1, 1)]
    more = say("and {count} more; 2 lists all", count=len(devices) - len(shown))
    return [*_table(recent, moment, devices=shown, screen=screen)[1:], line_of(more, screen, tone="dim")][
        :room
    ]


def _large(recent: Recent, device: DeviceTick, *, screen: Screen) -> list[str]:
    """A card on three lines: who it is, how busy, how warm."""
    hurt = words.held_back(device) if words.hurt_by(device) else None
    state, tone = words.trouble(device) or hurt or words.state(device)
    name = told(f"{device.card}  {device.name or ''}", screen)
    said = cut_to(told(state, screen), max(screen.width - width(name) - 2, _LEAST_WRONG), screen=screen)
    room = screen.width - width(said) - 2
    head = toned(pad(cut_to(name, room, screen=screen), room), "strong", screen=screen)
    half = screen.width // 2 - 2
    busy = (say("busy"), words.share(device.busy_share), f"{device.card}.busy")
    power = (say("power"), words.power(device.power_w, device.power_limit_w), f"{device.card}.power")
    gauges = [_gauge(*one[:2], past=recent.past(one[2]), room=half, screen=screen) for one in (busy, power)]
    # pieces of a card's last line, the most important first
    plain: Tone = "plain"
    memory = words.memory(device.mem_used_bytes, device.mem_total_bytes)
    found: list[tuple[Words, Tone]] = [(say("GPU memory {memory}", memory=memory), plain)]
    if device.mem_used_bytes is not None and device.mem_total_bytes:
        found[0] = (f"{told(found[0][0], screen)} {meter(_full(device), _METER, screen=screen)}", plain)
    found.append((words.celsius(device.gpu_c), plain))
    found += [(one, "bad") for one in words.troubles(device) if one != state]
    held = None if hurt and state is hurt[0] else words.held_back(device)
    found += [held] if held is not None else []
    found += [(one, plain) for one in words.activity(device)]
    if device.mem_c is not None:
        found.append((say("memory at {heat}", heat=words.celsius(device.mem_c)), plain))
    found.append((words.clock(device.sm_hz), plain))
    if device.fan_share is not None:
        found.append((say("fan {share}", share=words.share(device.fan_share)), plain))
    if device.pcie_gen is not None and device.pcie_lanes is not None:
        found.append((f"PCIe {device.pcie_gen} x{device.pcie_lanes}", plain))
    return [
        f"{head}  {toned(said, tone, screen=screen)}",
        f"{gauges[0]}  {gauges[1].lstrip()}",
        _fit(found, screen),
    ]


def _gauge(label: Sentence, shown: str, *, past: Past, room: int, screen: Screen) -> str:
    head = f"  {pad(told(label, screen), 5)} {pad(shown, 10, right=True)} "
    cells = min(room - width(head), MOST_PICTURE)
    return head + picture(past, cells, screen=screen) if cells >= LEAST_PICTURE else head


def _fit(pieces: Iterable[tuple[Words, Tone]], screen: Screen) -> str:
    """As many pieces as there is room for."""
    line, used = " " * _INDENT, _INDENT
    for said, tone in pieces:
        text = told(said, screen)
        gap = 0 if used == _INDENT else 3
        if used + gap + width(text) > screen.width:
            continue
        line += " " * gap + toned(text, tone, screen=screen)
        used += gap + width(text)
    return line


def _full(device: DeviceTick) -> float | None:
    if device.mem_used_bytes is None or not device.mem_total_bytes:
        return None
    return device.mem_used_bytes / device.mem_total_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of the table of cards; a bar shows how full the memory is."""

    head: Words
    rank: int  # the lowest find room first
    least: int  # cells
    read: Callable[[DeviceTick], Words]
    is_bar: bool = False


_ALWAYS = 4  # ranks below it go before the picture
_COLUMNS = (
    _Column(head=say("busy"), rank=0, least=5, read=lambda one: words.share(one.busy_share)),
    _Column(
        head=say("memory"),
        rank=1,
        least=13,
        read=lambda one: words.memory(one.mem_used_bytes, one.mem_total_bytes),
    ),
    _Column(head="", rank=6, least=_METER, read=lambda _: "", is_bar=True),
    _Column(head=say("heat"), rank=2, least=6, read=lambda one: words.celsius(one.gpu_c)),
    _Column(head=say("power"), rank=3, least=9, read=lambda one: words.power(one.power_w, one.power_limit_w)),
    _Column(head="SM", rank=4, least=5, read=lambda one: words.share(words.active(one, "sm_share"))),
    _Column(
        head=say("tensor"), rank=5, least=6, read=lambda one: words.share(words.active(one, "tensor_share"))
    ),
    _Column(head="DRAM", rank=8, least=5, read=lambda one: words.share(words.active(one, "dram_share"))),
    _Column(head=say("SM clock"), rank=7, least=8, read=lambda one: words.clock(one.sm_hz)),
)


def _table(
    recent: Recent, moment: MachineMoment, *, devices: Sequence[DeviceTick], screen: Screen
) -> list[str]:
    """The head, then each card on one line: its figures, its last minutes, what is wrong with it."""
    side = max(4, *(width(device.card) for device in devices))
    cells = {column: [told(column.read(one), screen) for one in devices] for column in _COLUMNS}
    wide = {
        column: max(column.least, width(told(column.head, screen)), *map(width, shown))
        for column, shown in cells.items()
    }
    chosen, left = set(), screen.width - side
    for column in sorted(cells, key=lambda one: one.rank):
        is_always = column.rank < _ALWAYS
        need = wide[column] + 2
        if need + (0 if is_always else _PICTURED + 2) <= left and (
            is_always or {*cells[column]} != {words.NONE}
        ):
            chosen.add(column)
            left -= need
    columns = [column for column in _COLUMNS if column in chosen]
    head = " " * side + "".join(
        "  " + pad(told(column.head, screen), wide[column], right=True) for column in columns
    )
    cells_of_past = min(left - 2, MOST_PICTURE)
    if cells_of_past >= LEAST_PICTURE and screen.width >= _ROOMY:
        seen = min(len(recent.moments), cells_of_past)
        past = say("busy, last {time}", time=show_seconds(seen * moment.every_s))
        head += "  " + cut_to(told(past, screen), cells_of_past, screen=screen)
    found = [toned(cut_to(head, screen.width, screen=screen), "dim", screen=screen)]
    for place, device in enumerate(devices):
        row = [(column, cells[column][place], wide[column]) for column in columns]
        found.append(_small(recent, device, row=row, side=side, screen=screen))
    return found


def _small(
    recent: Recent, device: DeviceTick, *, row: list[tuple[_Column, str, int]], side: int, screen: Screen
) -> str:
    """A card on one line; what is wrong with it goes before its picture, and before its last figures."""
    line, used = pad(device.card, side), side
    if device.state not in {"ok", "stale"}:
        state, tone = words.state(device)
        return f"{line}  {line_of(state, screen, tone=tone, less=used + 2)}"
    wrong = _wrong(device, screen)
    whole = width(wrong[0]) + 2 if wrong else 0
    for column, shown, cells in row:
        if used + 2 + cells + min(whole, _LEAST_WRONG) > screen.width:
            break
        drawn = meter(_full(device), cells, screen=screen) if column.is_bar else pad(shown, cells, right=True)
        line, used = f"{line}  {drawn}", used + 2 + cells
    room = min(screen.width - used - 2 - whole, MOST_PICTURE if screen.width >= _ROOMY else 0)
    if room >= LEAST_PICTURE:
        line, used = (
            f"{line}  {picture(recent.past(f'{device.card}.busy'), room, screen=screen)}",
            used + 2 + room,
        )
    if not wrong:
        return line
    said, tone = wrong
    return f"{line}  {line_of(said, screen, tone=tone, less=used + 2)}"


def _wrong(device: DeviceTick, screen: Screen) -> tuple[str, Tone] | None:
    """The worst that is wrong with a card."""
    wrong = words.trouble(device) or words.held_back(device)
    return None if wrong is None else (told(wrong[0], screen), wrong[1])
