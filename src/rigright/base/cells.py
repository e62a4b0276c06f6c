"""Tables inside a text: Markdown's, with or without outer bars, and cells between tabs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rigright.base.record import dataclass

MOST_CELLS = 24  # of a row: what stands behind them is kept in the last
_DRAWN = "-:=+ ─━—–"  # signs that a line under a head is drawn with


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """Rows of one table, each with its place among the lines of the text."""

    head: tuple[str, ...]  # empty where the table has none
    head_at: int  # the line of the head, else that of the first row
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    end: int  # the first line behind it


def cells_of(line: str) -> tuple[str, ...]:
    """The cells of a line; a line without bars or tabs has one."""
    mark = "|" if "|" in line else "\t"
    whole = line.strip()
    inner = whole.removeprefix("|").removesuffix("|") if mark == "|" else whole
    return tuple(cell.strip() for cell in inner.split(mark, MOST_CELLS - 1))


def is_rule(line: str) -> bool:
    """Whether a line only draws the line under a head."""
    return not set(line).isdisjoint("-─━—–=") and set(line) <= _BARS


_BARS = frozenset(f"{_DRAWN}|\t")


def tables_of(lines: Sequence[str]) -> Iterator[TextTable]:
    """Every table of a text: two rows or more that have two cells or more."""
    place = 0
    while place < len(lines):
        end = place
        while end < len(lines) and (len(cells_of(lines[end])) > 1 or (end > place and is_rule(lines[end]))):
            end += 1
        if end - place > 1:
            yield _table(lines, place, end=end)
        place = max(end, place + 1)


def _table(lines: Sequence[str], start: int, *, end: int) -> TextTable:
    """One table; the row over a drawn line is its head, and that of cells between tabs is the first."""
    ruled = next((place for place in range(start, end) if is_rule(lines[place])), None)
    headed = start if ruled is None and "|" not in lines[start] else -1 if ruled is None else ruled - 1
    kept = [place for place in range(start, end) if not is_rule(lines[place]) and place != headed]
    rows = tuple((place, cells_of(lines[place])) for place in kept)
    head = cells_of(lines[headed]) if headed >= start else ()
    return TextTable(head=head, head_at=max(headed, start), rows=rows, end=end)
