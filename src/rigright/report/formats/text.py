"""A page for a terminal."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, zip_longest

from rigright.base.page import Bars, Commands, Line, Page, Plot, Points, Shown, Strips, Table, Tone
from rigright.report.charts import draw_chart
from rigright.report.screen import (
    NARROW_CELLS,
    Screen,
    command_text,
    longest_word,
    mark,
    pad,
    screen_text,
    toned,
    width,
    wrap,
)

_MARKED: frozenset[Tone] = frozenset({"good", "warn", "bad"})
_WIDEST_TEXT = 100  # cells a sentence may take before it is hard to read


def render(page: Page, screen: Screen) -> str:
    """The page as lines of text, none wider than the screen but commands, which are to be copied."""
    answered = page.tone in _MARKED
    blocks = [
        _line(Line(text=page.title, tone=page.tone), screen) if answered else _heading(page.title, screen)
    ]
    for before, part in pairwise((None, *page.drawn)):
        draw: Callable[..., list[str]] = _DRAWN[type(part)]
        lines = draw(part, screen)
        if lines and isinstance(part, Line) and isinstance(before, Line) and not part.apart:
            blocks[-1] += lines
        elif lines:
            blocks.append(_heading(getattr(part, "title", None), screen) + lines)
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _heading(title: Shown | None, screen: Screen) -> list[str]:
    lines = _wrapped(title or "", screen)
    return [toned(line, "strong", screen=screen) for line in lines if line]


def _line(line: Line, screen: Screen) -> list[str]:
    return [
        toned(text, line.tone, screen=screen)
        for text in _hung(mark(line.tone, screen), line.text, screen=screen)
    ]


def _points(points: Points, screen: Screen) -> list[str]:
    bullet = "  • " if screen.unicode else "  - "
    return [
        toned(text, points.tone, screen=screen)
        for item in points.items
        for text in _hung(bullet, item, screen=screen)
    ]


def _hung(mark: str, sentence: Shown, *, screen: Screen) -> list[str]:
    """A sentence behind a mark, its further lines hung under its first word."""
    lines = _wrapped(sentence, screen, less=width(mark))
    return [mark + lines[0], *(" " * width(mark) + line for line in lines[1:])]


def _wrapped(sentence: Shown, screen: Screen, *, less: int = 0) -> list[str]:
    return wrap(screen_text(sentence, screen), min(screen.width, _WIDEST_TEXT) - less)


# tables: columns that give way, and cards where no table fits

_GAP = "  "
_TYPED = "$ "  # a cell that begins so is a command
_LEAST_FLEXIBLE, _LEAST_TEXT = 16, 10  # a column is not squeezed below this
_SHORT_HEAD = 4  # cells


def _table(table: Table, screen: Screen) -> list[str]:
    """The lines of a table."""
    heads = [screen_text(column.head, screen) for column in table.columns]
    rows = [[screen_text(cell, screen) for cell in row] for row in table.rows]
    widths = _widths(table, heads, rows=rows, room=screen.width)
    if widths is None:
        return _cards(table, heads, rows=rows, screen=screen)
    right = [column.right for column in table.columns]
    lines = (
        [toned(line, "dim", screen=screen) for line in _row(heads, widths, right=right)] if any(heads) else []
    )
    if lines:
        rule = "─" if screen.unicode else "-"
        lines.append(toned(_GAP.join(rule * cells for cells in widths), "dim", screen=screen))
    for cells, tone in zip(rows, _tones(table), strict=False):
        lines += [toned(line, tone, screen=screen) for line in _row(cells, widths, right=right)]
    return lines


def _tones(table: Table) -> tuple[Tone, ...]:
    plain: Tone = "plain"
    return table.tones or (plain,) * len(table.rows)


def _row(cells: list[str], widths: list[int], *, right: list[bool]) -> list[str]:
    """One row, as many lines high as its fullest cell."""
    wrapped = [_lines(cell, cells_wide) for cell, cells_wide in zip(cells, widths, strict=True)]
    lines = []
    for pieces in zip_longest(*wrapped, fillvalue=""):
        padded = [pad(piece, cells, right=at) for piece, cells, at in zip(pieces, widths, right, strict=True)]
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _lines(cell: str, cells_wide: int) -> list[str]:
    """A cell cut into lines; a command stays whole, for it is to be copied."""
    return [cell] if cell.startswith(_TYPED) else wrap(cell, cells_wide)


def _widths(table: Table, heads: list[str], *, rows: list[list[str]], room: int) -> list[int] | None:
    """How wide each column is, giving way step by step; None where no table fits."""
    room -= len(_GAP) * (len(heads) - 1)
    bodies = [max((width(row[index]) for row in rows), default=0) for index in range(len(heads))]
    full = [max(body, width(head)) for body, head in zip(bodies, heads, strict=True)]
    tight = [max(body, _least(head)) for body, head in zip(bodies, heads, strict=True)]
    if sum(full) <= room:
        return full
    squeezed = _squeeze(tight, tight, room=room)
    if squeezed or room < NARROW_CELLS:
        return squeezed
    flexible = [
        min(cells, max(_LEAST_FLEXIBLE, _least(head))) if column.flexible else cells
        for column, cells, head in zip(table.columns, tight, heads, strict=True)
    ]
    texts = [
        least if column.right else min(least, _LEAST_TEXT)
        for column, least in zip(table.columns, flexible, strict=True)
    ]
    return _squeeze(tight, flexible, room=room) or _squeeze(tight, texts, room=room)


def _least(head: str) -> int:
    """A head breaks between words; a short one of Chinese, where every letter is a word, stays whole."""
    return width(head) if width(head) <= _SHORT_HEAD else longest_word(head)


def _squeeze(widths: list[int], least: list[int], *, room: int) -> list[int] | None:
    """Columns wider than a level give way down to it, none below its least; None where that is not enough."""
    for level in range(room, 0, -1):
        given = [max(min(cells, level), floor) for cells, floor in zip(widths, least, strict=True)]
        if sum(given) <= room:
            return given
    return None


def _cards(table: Table, heads: list[str], *, rows: list[list[str]], screen: Screen) -> list[str]:
    """Each row as a card: its first cell, then a line for each other."""
    side = min(max((width(head) for head in heads[1:]), default=0), screen.width // 2 - 3)
    lines: list[str] = []
    for row, tone in zip(rows, _tones(table), strict=False):
        lines += [""] if lines else []
        lines += [
            toned(line, "strong" if tone == "plain" else tone, screen=screen)
            for line in wrap(row[0], screen.width)
        ]
        for head, cell in zip(heads[1:], row[1:], strict=True):
            lines += _card_line(head, cell, side=side, screen=screen) if cell else []
    return lines


def _card_line(head: str, cell: str, *, side: int, screen: Screen) -> list[str]:
    """The name of a column and what stands there."""
    room = screen.width - side - 4
    names = wrap(head, side)
    return [
        f"  {toned(name, 'dim', screen=screen)}{' ' * (side - width(name))}  {piece}".rstrip()
        for name, piece in zip_longest(names, _lines(cell, room), fillvalue="")
    ]


_DRAWN: dict[type, Callable[..., list[str]]] = {
    Line: _line,
    Table: _table,
    Bars: draw_chart,
    Points: _points,
    Commands: lambda commands, screen: [
        f"  {toned('$', 'dim', screen=screen)} {command_text(item, screen)}" for item in commands.items
    ],
    Plot: draw_chart,
    Strips: draw_chart,
}
