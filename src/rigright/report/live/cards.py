"""The cards of a live view: a line each with its figures, its last minutes and what is wrong with it."""

from __future__ import annotations

from rigright.base.page import Tone
from rigright.base.words import say
from rigright.machine.tick import DeviceTick
from rigright.report.live import words
from rigright.report.live.pieces import PICTURE, GridColumn, Words, grid, line_of, picture
from rigright.report.live.recent import Recent
from rigright.report.screen import Screen

_COLUMNS = (
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
        shown = tuple(sorted(devices, key=lambda tick: _state(tick)[0] == ""))[: max(room - 2, 1)]
    rows = [
        (*_figures(device), picture(recent.past(device.card), screen), _state(device)[0]) for device in shown
    ]
    kept = [
        place for place in range(len(_COLUMNS)) if place < 5 or {row[place] for row in rows} != {words.NONE}
    ]
    lines = grid(
        [_COLUMNS[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        screen=screen,
        tones=[_state(device)[1] for device in shown],
    )
    if len(shown) < len(devices):
        more = say("and {count} more GPUs", count=len(devices) - len(shown))
        lines.append(line_of(more, screen, tone="dim"))
    return lines[-room:] if room < len(lines) else lines


def _figures(device: DeviceTick) -> tuple[Words, ...]:
    shares = [words.active(device, name) for name in ("sm_share", "tensor_share", "dram_share")]
    return (
        *(device.card, words.share(device.busy_share)),
        words.memory(device.mem_used_bytes, device.mem_total_bytes),
        *(words.celsius(device.gpu_c), words.power(device.power_w, device.power_limit_w)),
        *(*map(words.share, shares), words.clock(device.sm_hz)),
    )


def _state(device: DeviceTick) -> tuple[Words, Tone]:
    """The worst that is wrong with a card."""
    return words.trouble(device) or words.slowed_by(device) or ("", "plain")
