"""The page: what a person is shown, before any format or language is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

from rigright.base.record import dataclass
from rigright.base.words import Sentence, is_known, say

Tone = Literal["plain", "good", "warn", "bad", "dim", "strong"]
Shown = Sentence | str
_Record = TypeVar("_Record")
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Text = TypeVar("_Text")


def known(value: _Value | None, show: Callable[[_Value], _Text]) -> _Text | None:
    """A value as it is shown; None where it is not known."""
    return None if value is None else show(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One sentence on its own."""

    text: Shown
    tone: Tone = "plain"
    apart: bool = False  # it begins something new: not right under the line before

    @classmethod
    def good(cls, text: Shown) -> Line:
        """A line that bears the tick."""
        return cls(text=text, tone="good")

    @classmethod
    def warn(cls, text: Shown) -> Line:
        """A line that bears the exclamation mark."""
        return cls(text=text, tone="warn")

    @classmethod
    def bad(cls, text: Shown) -> Line:
        """A line that bears the cross."""
        return cls(text=text, tone="bad")

    @classmethod
    def dim(cls, text: Shown) -> Line:
        """A line that stands behind the others: an assumption, a source, a file."""
        return cls(text=text, tone="dim")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table; numbers stand right."""

    head: Shown
    right: bool = False
    flexible: bool = False  # may be cut or wrapped on a narrow screen


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under heads."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Shown, ...], ...]
    title: Shown | None = None
    tones: tuple[Tone, ...] = ()  # one a row, or none


Heading = Shown | Column  # a bare head is a column of short texts


def number(head: Shown) -> Column:
    """A column of numbers: they stand right."""
    return Column(head=head, right=True)


def prose(head: Shown) -> Column:
    """A column of sentences or long names: it gives way on a narrow screen."""
    return Column(head=head, flexible=True)


def table(
    heads: Iterable[Heading],
    rows: Iterable[Iterable[Shown | None]],
    *,
    title: Shown | None = None,
    tones: Iterable[Tone] = (),
    totals: bool = False,
    filled: bool = False,
) -> Table:
    """A table of heads and rows, of what is not known an empty cell.

    `totals`: the last row is the sum of those above; `filled`: a column that would stay empty is left out.
    """
    columns = tuple(head if isinstance(head, Column) else Column(head=head) for head in heads)
    cells = tuple(tuple(cell or "" for cell in row) for row in rows)
    if filled and cells:
        kept = [place for place, column in enumerate(zip(*cells, strict=True)) if any(column)]
        columns = tuple(columns[place] for place in kept)
        cells = tuple(tuple(row[place] for place in kept) for row in cells)
    plain: Tone = "plain"
    tones = (*(plain,) * (len(cells) - 1), "strong") if totals else tuple(tones)
    return Table(columns=columns, rows=cells, title=title, tones=tones)


def records(
    rows: Iterable[_Record],
    columns: Iterable[tuple[Heading, Callable[[_Record], Shown | None] | None]],
    *,
    title: Shown | None = None,
    tone: Callable[[_Record], Tone] | None = None,
    filled: bool = False,
) -> Table:
    """A table of records: of each column its head, and its cell of a record; None where it has no place."""
    rows = tuple(rows)
    heads, reads = zip(*((head, cell) for head, cell in columns if cell is not None), strict=True)
    cells = ([read(row) for read in reads] for row in rows)
    return table(heads, cells, title=title, tones=() if tone is None else map(tone, rows), filled=filled)


def facts(rows: Iterable[tuple[Shown, Shown | None]], *, title: Shown | None = None) -> Table:
    """What is known of one thing: a name and a value a row."""
    return table(("", prose("")), (row for row in rows if is_known(row[1])), title=title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of a bar."""

    name: Shown
    size: float
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: pieces against a limit, such as the parts of one GPU's memory."""

    label: Shown
    pieces: tuple[Piece, ...]
    limit: float
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Bars on one scale with a legend."""

    bars: tuple[Bar, ...]
    title: Shown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A short list."""

    items: tuple[Shown, ...]
    title: Shown | None = None
    tone: Tone = "plain"

    @classmethod
    def of(
        cls,
        every: Iterable[Shown | None],
        *,
        title: Shown | None = None,
        tone: Tone = "plain",
        most: int | None = None,
    ) -> Points:
        """A list; of more than `most` the first, and how many there are more."""
        items: tuple[Shown, ...] = tuple(item for item in every if item is not None and is_known(item))
        if most is not None and len(items) > most:
            items = (*items[:most], say("and {count} more", count=len(items) - most))
        return cls(items=items, title=title, tone=tone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What to type next."""

    items: tuple[str, ...]
    title: Shown | None = None

    @classmethod
    def next(cls, items: Iterable[str]) -> Commands:
        """The commands that an answer ends with."""
        return cls(items=tuple(items), title=say("next"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points joined by a line, told apart by one letter."""

    letter: str
    name: Shown
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One point, shown as a letter; `curve` is the place of the curve it belongs to."""

    letter: str
    name: Shown
    x: float
    y: float
    curve: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Curves and points over two axes; in powers of ten what is not above zero is not drawn."""

    curves: tuple[Curve, ...]
    spots: tuple[Spot, ...]
    x_name: Shown
    y_name: Shown
    title: Shown | None = None
    linear: bool = False  # both axes in equal steps from zero, instead of powers of ten
    lines: int = 14  # of text that the drawing takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One quantity over time; None where it was not observed."""

    label: Shown
    values: tuple[float | None, ...]
    shown: Shown  # the figures a person wants of it: "41 GiB, at most 44 GiB"
    high: float | None = None  # top of the picture; the largest value where none is stated


@dataclass(frozen=True, slots=True, kw_only=True)
class Strips:
    """Quantities over the same time, one under another."""

    strips: tuple[Strip, ...]
    title: Shown | None = None
    span: Shown | None = None  # which time it is: "the last 10 minutes"


Part = Line | Table | Bars | Points | Commands | Plot | Strips


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A title and parts, top to bottom; where a question was asked, the title is its answer."""

    title: Shown
    parts: tuple[Part, ...]
    tone: Tone = "plain"  # of an answer: it bears its mark

    @property
    def drawn(self) -> tuple[Part, ...]:
        """What is drawn: a table without rows has only heads to show, and those to a spreadsheet alone."""
        return tuple(part for part in self.parts if getattr(part, "rows", True))

    @classmethod
    def of(
        cls, title: Shown | Line, *parts: Part | Iterable[Part | None] | None, tone: Tone = "plain"
    ) -> Page:
        """A page of an answer or a title; a missing part, an empty list, what is not known leave no trace."""
        every = (part for item in parts for part in ((item,) if isinstance(item, Part | None) else item))
        kept = (
            part
            for part in every
            if part is not None and getattr(part, "items", True) and is_known(getattr(part, "text", "-"))
        )
        if isinstance(title, Line):
            return cls(title=title.text, parts=tuple(kept), tone=title.tone)
        return cls(title=title, parts=tuple(kept), tone=tone)


def grouped(pairs: Iterable[tuple[_Key, _Record]]) -> dict[_Key, list[_Record]]:
    """What is said of several, once, with all that it is said of; in the order of the first of each."""
    groups: dict[_Key, list[_Record]] = {}
    for key, record in pairs:
        groups.setdefault(key, []).append(record)
    return groups


def answer_of(verdict: Callable[[Any], Line]) -> Callable[[Any], Sentence | str]:
    """What a script is told of a verdict: its words."""

    def words(record: object) -> Sentence | str:
        """The answer as a sentence."""
        return verdict(record).text

    return words
