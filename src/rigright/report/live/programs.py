"""The programs on the cards: one row each, sorted and filtered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
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

_COLUMNS = (
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


def rows(moment: MachineMoment, view: View) -> list[ProgramRow]:
    """Programs that the filter lets through, in the order asked for; equal ones as the driver lists them."""
    programs: dict[int, list[tuple[str, Program]]] = {}
    for device in moment.tick.devices:
        for program in device.programs or ():
            programs.setdefault(program.pid, []).append((device.card, program))
    uses: Mapping[int, ProgramUse] = {} if moment.detail is None else moment.detail.uses
    program_rows = [_row(pid, ones, use=uses.get(pid, ProgramUse())) for pid, ones in programs.items()]
    wanted = [row for row in program_rows if _wanted(row, view.words)]
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


def draw(program_rows: Iterable[ProgramRow], *, screen: Screen) -> list[str]:
    """The head and a line for each."""
    shown = [
        (
            *(cards_of(row.cards), str(row.pid), row.user or words.NONE, _size(row.mem_bytes)),
            *(words.share(row.sm_share), words.share(row.use.cpu_share), _size(row.use.mem_bytes)),
            *(words.NONE if row.use.run_s is None else show_seconds(row.use.run_s), row.name),
        )
        for row in program_rows
    ]
    return grid(_COLUMNS, shown, screen=screen)


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
