"""The programs on the cards: one row each, sorted and filtered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any, cast

from rigright.base.units import show_bytes, show_seconds
from rigright.base.words import Sentence, say
from rigright.machine.device import Program
from rigright.machine.sampling.programs import ProgramUse
from rigright.report.live import words
from rigright.report.live.pieces import GridColumn, grid
from rigright.report.live.state import RISING, View
from rigright.report.screen import Screen
from rigright.verbs.watch.watched import MachineMoment

_UNKNOWN = ProgramUse()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRow:
    """One program, over all cards that it holds memory of."""

    pid: int
    user: str | None
    name: str
    cards: tuple[str, ...]
    mem_bytes: float | None
    sm_share: float | None
    encoder_share: float | None
    use: ProgramUse


def rows(moment: MachineMoment, view: View) -> list[ProgramRow]:
    """Programs that the filter lets through, in the order asked for; equal ones as the driver lists them."""
    held: dict[int, list[tuple[str, Program]]] = {}
    for device in moment.tick.devices:
        for program in device.programs or ():
            held.setdefault(program.pid, []).append((device.card, program))
    uses: Mapping[int, ProgramUse] = {} if moment.detail is None else moment.detail.uses
    found = [_row(pid, ones, use=uses.get(pid, _UNKNOWN)) for pid, ones in held.items()]
    wanted = [row for row in found if _wanted(row, view.words)]
    read = _KEYS[view.sort]
    known = [row for row in wanted if read(row) is not None]
    known.sort(key=lambda row: cast("Any", read(row)), reverse=(view.sort in RISING) == view.reverse)
    return known + [row for row in wanted if read(row) is None]


def draw(found: Iterable[ProgramRow], *, screen: Screen) -> list[str]:
    """The head and a line for each."""
    return grid(_COLUMNS, [_shown(row) for row in found], screen=screen)


def _row(pid: int, ones: list[tuple[str, Program]], *, use: ProgramUse) -> ProgramRow:
    first = ones[0][1]
    sizes = [one.mem_bytes for _, one in ones if one.mem_bytes is not None]
    return ProgramRow(
        pid=pid,
        user=first.user,
        name=short(use.command or first.name or words.NONE),
        cards=tuple(card for card, _ in ones),
        mem_bytes=fsum(sizes) if sizes else None,
        sm_share=_mean([one.sm_share for _, one in ones]),
        encoder_share=_mean([one.encoder_share for _, one in ones]),
        use=use,
    )


def short(command: str) -> str:
    """A command without the folder of its program."""
    program, space, rest = command.partition(" ")
    return (re.split(r"[/\\\\]", program)[-1] or program) + space + rest


def _mean(shares: list[float | None]) -> float | None:
    known = [one for one in shares if one is not None]
    return sum(known) / len(known) if known else None


def _wanted(row: ProgramRow, text: str) -> bool:
    """Every word of the filter: `user:ada`, `gpu:3`, or a part of the command, the user or the number."""
    for word in text.casefold().split():
        kind, colon, value = word.partition(":")
        if colon and kind == "user":
            if value not in (row.user or "").casefold():
                return False
        elif colon and kind == "gpu":
            if not any(value in {card, card.lstrip("abcdefghijklmnopqrstuvwxyz")} for card in row.cards):
                return False
        elif word not in f"{row.pid} {row.user or ''} {row.name}".casefold():
            return False
    return True


def _shown(row: ProgramRow) -> tuple[str, ...]:
    use = row.use
    return (
        cards_of(row.cards),
        str(row.pid),
        row.user or words.NONE,
        words.NONE if row.mem_bytes is None else show_bytes(row.mem_bytes),
        words.share(row.sm_share),
        words.share(row.encoder_share),
        words.share(use.cpu_share),
        words.NONE if use.mem_bytes is None else show_bytes(use.mem_bytes),
        words.NONE if use.run_s is None else show_seconds(use.run_s),
        row.name,
    )


def cards_of(cards: Iterable[str]) -> str:
    """Cards in short: "gpu0-3", "gpu0,5"; in the order they stand."""
    runs: list[tuple[str, int, int]] = []
    for card in cards:
        kind = card.rstrip("0123456789")
        index = int(card[len(kind) :] or 0)
        if runs and runs[-1][0] == kind and runs[-1][2] + 1 == index:
            runs[-1] = kind, runs[-1][1], index
        else:
            runs.append((kind, index, index))
    parts = []
    for place, (kind, low, high) in enumerate(runs):
        front = "" if place and runs[place - 1][0] == kind else kind
        parts.append(f"{front}{low}" if low == high else f"{front}{low}-{high}")
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
_COLUMNS = (
    GridColumn(say("GPU"), 1, right=False, least=5),
    GridColumn(say("PID"), 2, least=7),
    GridColumn(say("user"), 4, right=False, least=8),
    GridColumn(say("GPU mem"), 0, least=9),
    GridColumn("SM", 3, least=5),
    GridColumn(say("enc"), 8, least=5),
    GridColumn("CPU", 5, least=6),
    GridColumn(say("host mem"), 7, least=9),
    GridColumn(say("time"), 6, least=7),
    GridColumn(say("command"), -1, right=False),
)
