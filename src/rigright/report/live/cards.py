"""The cards of a live view: on three lines each where there is room, else on one."""

from __future__ import annotations

from collections.abc import Iterable

from rigright.base.words import Sentence, say
from rigright.machine.tick import DeviceTick
from rigright.report.draw.cells import pad, width
from rigright.report.draw.ink import toned
from rigright.report.live import words
from rigright.report.live.pieces import (
    LEAST_PICTURE,
    MOST_PICTURE,
    Past,
    cut_to,
    line_of,
    picture,
    told,
)
from rigright.report.live.recent import Recent
from rigright.report.page import Tone
from rigright.report.screen import Screen
from rigright.report.watched import Moment

_ROOMY = 72  # cells from which a card's line also bears a picture
_WIDE = 130  # from which the picture of a small card is as wide as any
_SMALL_PICTURE = 24
_LEAST_WRONG = 26  # cells of what is wrong with a card
_INDENT = 2  # of what is told below a card
_CARD_LINES = 3  # of a card drawn large
_REST_LINES = 6  # for host, programs and events, so that large cards leave room for them


def draw_cards(recent: Recent, moment: Moment, *, screen: Screen, room: int) -> list[str]:
    """Every card, or as many as there is room for: those in trouble before the others."""
    devices = moment.tick.devices
    if not devices:
        return [line_of(say("no accelerator that a driver shows"), screen, tone="dim")]
    large = len(devices) * _CARD_LINES + _REST_LINES <= room and screen.width >= _ROOMY
    if len(devices) > room:
        devices = tuple(sorted(devices, key=lambda one: _wrong(one, screen) is None))
    found: list[str] = []
    for place, device in enumerate(devices):
        drawn = (_large if large else _small)(recent, device, screen=screen)
        if len(found) + len(drawn) >= room and place + 1 < len(devices):
            more = say("and {count} more; 2 lists all", count=len(devices) - place)
            return [*found, line_of(more, screen, tone="dim")]
        found += drawn
    return found


def _large(recent: Recent, device: DeviceTick, *, screen: Screen) -> list[str]:
    """A card on three lines: who it is, how busy, how warm."""
    state, tone = words.state(device)
    name = told(f"{device.card}  {device.name or ''}", screen)
    said = told(state, screen)
    room = screen.width - width(said) - 2
    head = toned(pad(cut_to(name, room, screen=screen), room), "strong", screen=screen)
    half = screen.width // 2 - 2
    busy = (say("busy"), words.share(device.busy_share), f"{device.card}.busy")
    power = (say("power"), words.power(device.power_w, device.power_limit_w), f"{device.card}.power")
    gauges = [_gauge(*one[:2], past=recent.past(one[2]), room=half, screen=screen) for one in (busy, power)]
    # pieces of a card's last line, the most important first
    plain: Tone = "plain"
    memory = words.memory(device.mem_used_bytes, device.mem_total_bytes)
    found: list[tuple[Sentence | str, Tone]] = [(say("GPU memory {memory}", memory=memory), plain)]
    found.append((words.celsius(device.gpu_c), plain))
    found += [(one, "bad") for one in words.troubles(device)]
    held = words.held_back(device)
    found += [held] if held is not None else []
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


def _fit(pieces: Iterable[tuple[Sentence | str, Tone]], screen: Screen) -> str:
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


def _small(recent: Recent, device: DeviceTick, *, screen: Screen) -> list[str]:
    """A card on one line."""
    label = pad(device.card, 6)
    if device.state not in {"ok", "stale"}:
        state, tone = words.state(device)
        return [f"{label}{line_of(state, screen, tone=tone, less=width(label))}"]
    columns = (
        (words.share(device.busy_share), 6),
        (words.memory(device.mem_used_bytes, device.mem_total_bytes), 16),
        (told(words.celsius(device.gpu_c), screen), 7),
        (words.power(device.power_w, device.power_limit_w), 11),
    )
    wrong = _wrong(device, screen)
    whole = width(wrong[0]) + 2 if wrong else 0  # goes before a picture, and its beginning before a figure
    least = min(whole, _LEAST_WRONG)
    line, used = label, width(label)
    for shown, cells in columns:
        if used + cells + 1 + least <= screen.width:
            line, used = f"{line} {pad(shown, cells, right=True)}", used + cells + 1
    most = MOST_PICTURE if screen.width >= _WIDE else _SMALL_PICTURE if screen.width >= _ROOMY else 0
    room = min(screen.width - used - 2 - whole, most)
    if room >= LEAST_PICTURE:
        line += "  " + picture(recent.past(f"{device.card}.busy"), room, screen=screen)
        used += room + 2
    if not wrong:
        return [line]
    said, tone = wrong
    return [f"{line}  {line_of(said, screen, tone=tone, less=used + 2)}"]


def _wrong(device: DeviceTick, screen: Screen) -> tuple[str, Tone] | None:
    """The worst that is wrong with a card."""
    wrong: list[tuple[Sentence | str, Tone]] = [(one, "bad") for one in words.troubles(device)]
    if device.state != "ok":
        wrong.insert(0, words.state(device))
    held = words.held_back(device)
    wrong += [held] if held is not None else []
    return (told(wrong[0][0], screen), wrong[0][1]) if wrong else None
