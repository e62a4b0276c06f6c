"""The page: what a person is shown, before any format or language is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rigright.base.record import dataclass
from rigright.base.words import Sentence

Tone = Literal["plain", "good", "warn", "bad", "dim", "strong"]
Shown = Sentence | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One sentence on its own."""

    text: Shown
    tone: Tone = "plain"
    apart: bool = False  # it begins something new: not right under the line before


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
    rows: Iterable[Iterable[Shown]],
    *,
    title: Shown | None = None,
    tones: Iterable[Tone] = (),
) -> Table:
    """A table of heads and rows."""
    columns = tuple(head if isinstance(head, Column) else Column(head=head) for head in heads)
    return Table(columns=columns, rows=tuple(map(tuple, rows)), title=title, tones=tuple(tones))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What to type next."""

    items: tuple[str, ...]
    title: Shown | None = None


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
