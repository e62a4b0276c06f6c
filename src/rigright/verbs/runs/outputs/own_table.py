"""A table that people made themselves, a column a metric, headed in their words (data/own_columns.toml)."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from rigright.base.bounded import bounded_csv
from rigright.base.errors import RigError
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml, text
from rigright.base.units import KILO, parse_count
from rigright.base.words import Sentence, say
from rigright.verbs.runs.columns import RunSetup, columns_of
from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, model_named, number

MOST_CHARS, MOST_COLUMNS, MOST_SHOWN = 80, 200, 6  # of a heading; of a table; of columns that a note names
LEAST = 3  # columns that must be known before a table is taken for one of runs
MEAN, MEDIAN, OTHER = "mean", "median", "other"  # statistics
OURS = frozenset(
    {"source", "arch", "metric", "value", "value_gib", "img_size", "cpu_cores"}
)  # of our own kinds
EMPTY = frozenset({"", "-", "n/a", "na", "none", "nan", "null"})
_WORDS = re.compile(r"[a-z]+\d*|\d+[a-z]*|[\u4e00-\u9fff]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_BRACKETS = re.compile(r"[(\[（].{0,40}?[)\]）]")
_RULE = re.compile(r"[|\s:\-]+")
_FIGURE = re.compile(
    r"~? ?(?P<number>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)"
    r" ?(?P<kilo>k)? ?(?P<unit>[a-z/%]{0,12})\Z",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r",(?=\d{3}(?:[,.]|\Z))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a column of somebody's table holds, in our words."""

    place: int
    column: str
    figure: bool = False
    of: str = ""  # what a figure with units measures: "time", "memory"
    unit: str = ""  # that the heading states
    statistic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """The head of a table as it was understood, and its lines of cells, still to be read."""

    kind: str
    headings: tuple[Heading, ...]
    unread: tuple[str, ...]  # columns that nothing was made of
    lines: Iterator[Sequence[str]]


@cache
def _table() -> dict[str, Any]:
    return read_toml(DATA / "own_columns.toml")


@cache
def _named(kind: str) -> Mapping[str, tuple[str, bool]]:
    """Heading -> column of ours, and whether that is a figure."""
    table = _table()
    plain = {head: (column, False) for column, heads in table["cells"][kind].items() for head in heads}
    figures = {
        head: (column, True) for column, spec in table["figures"][kind].items() for head in spec["heads"]
    }
    return {" ".join(_words(head)): pair for head, pair in {**plain, **figures}.items()}


def _words(head: str) -> list[str]:
    return _WORDS.findall(_CAMEL.sub(" ", head[:MOST_CHARS]).lower())


def _heading(head: str, place: int, *, kind: str) -> Heading | None:
    """A column by its heading: as it is written, else without its unit and its statistic."""
    named, table = _named(kind), _table()
    words = _words(head)
    statistic = next((name for name, value in table["statistics"].items() if set(value) & set(words)), "")
    plain = [word for word in words if not any(word in value for value in table["statistics"].values())]
    units = [word for word in plain if word in table["units"]]
    bare = [word for word in plain if word not in table["units"]]
    outside = [word for word in _words(_BRACKETS.sub(" ", head)) if word in bare]
    for tried in (words, plain, bare, outside):
        column, is_figure = named.get(" ".join(tried), ("", False))
        if not column:
            continue
        if not is_figure and tried is bare and units:
            continue  # "output tokens/s" are no output tokens
        if not is_figure:
            return None if statistic else Heading(place=place, column=column)
        of = table["figures"][kind][column].get("of", "")
        unit = next((unit for unit in units if of in table["units"][unit]), "")
        return Heading(place=place, column=column, of=of, figure=True, unit=unit, statistic=statistic)
    return None


def _kind(heads: Sequence[str]) -> str:
    """Which kind of table it is: a training where a heading stands that only such have."""
    marks = set(_table()["kinds"]["training"])
    headings = [_heading(head, 0, kind="training") for head in heads]
    return (
        "training" if marks & {heading.column for heading in headings if heading is not None} else "inference"
    )


def _read(sections: Document) -> OwnTable | None:
    """The table that a file is; None: it is none, or not enough of it is known."""
    lines = _lines(sections)
    heads = [head.strip() for head in next(lines, [])[:MOST_COLUMNS]]
    if OURS & set(heads):
        return None
    kind = _kind(heads)
    known = [_heading(head, place, kind=kind) for place, head in enumerate(heads)]
    taken = _best(heading for heading in known if heading is not None)
    if (
        len(taken) < LEAST
        or not any(heading.figure for heading in taken)
        or not {"model", "chip"} & {heading.column for heading in taken}
    ):
        return None
    places = {heading.place for heading in taken}
    unread = tuple(head for place, head in enumerate(heads) if place not in places and head)
    return OwnTable(kind=kind, headings=taken, unread=unread, lines=lines)


def _best(headings: Iterator[Heading]) -> tuple[Heading, ...]:
    """One column a figure: its mean before its median, and no other statistic; one a cell."""
    order = [MEAN, "", MEDIAN]
    taken: dict[str, Heading] = {}
    for heading in headings:
        if heading.statistic == OTHER:
            continue
        mine = taken.get(heading.column)
        if mine is None or order.index(heading.statistic) < order.index(mine.statistic):
            taken[heading.column] = heading
    return tuple(taken.values())


def _lines(document: Document) -> Iterator[Sequence[str]]:
    """Its lines of cells, the head first: of JSON, of Markdown, or apart by commas, semicolons or tabs."""
    whole = document.text.lstrip("\ufeff \r\n")
    if document.objects:
        if any(isinstance(cell, dict | list) for row in document.objects for cell in row.values()):
            return  # a program's
        heads = list(dict.fromkeys(key for row in document.objects for key in row))
        yield heads
        yield from (
            ["" if row.get(head) is None else str(row[head]) for head in heads] for row in document.objects
        )
    elif whole.startswith("|"):
        lines = (line.strip() for line in whole.splitlines())
        texts = (line for line in lines if line.startswith("|") and not _RULE.fullmatch(line))
        yield from ([cell.strip() for cell in line.strip("|").split("|")] for line in texts)
    else:
        with suppress(
            ValueError
        ):  # what is no table ends here; of one, what stands before its bad row is read
            yield from (cells for _, cells in bounded_csv(io.StringIO(whole)) if cells)


def _figure(cell: str) -> tuple[float, str] | None:
    """The figure of a cell and its own unit: "1,880", "0,21", "1.9k", "210 ms"."""
    match = _FIGURE.match(cell.strip()[:MOST_CHARS])
    if match is None:
        return None
    plain = match["number"] if match["number"].startswith("0,") else _THOUSANDS.sub("", match["number"])
    value = number(plain.replace(",", "."))
    return None if value is None else (value * (KILO if match["kilo"] else 1), match["unit"].lower())


def _rows(document: Document, setup: RunSetup) -> Iterator[Run]:
    """Each figure of each row; of a training, all of them in one."""
    del setup
    table = _read(document)
    if table is None:
        return
    lines = list(table.lines)
    units, notes = _units(table, lines)
    unread = _unread(table)
    for place, line in enumerate(lines, 2):
        fields: dict[str, object] = {}
        figures: dict[str, object] = {}
        for heading in table.headings:
            cell = line[heading.place].strip() if heading.place < len(line) else ""
            if cell.lower() in EMPTY:
                continue
            if heading.figure:
                figures[heading.column] = _in_ours(cell, of=heading.of, unit=units[heading.column])
            else:
                fields[heading.column] = _written(cell, column=heading.column, kind=table.kind)
        of = {name: (*notes[name], *unread) for name in figures}
        yield from _runs(table.kind, fields, figures=figures, notes=of, line=place)


def _written(cell: str, *, column: str, kind: str) -> str:
    """A cell that holds a number as our readers take it: "8,192" and "8k" are 8192."""
    if columns_of(kind).get(column, text) is text:
        return cell
    plain = _THOUSANDS.sub("", cell)
    try:
        return str(parse_count(plain))
    except RigError:
        return plain


def _in_ours(cell: str, *, of: str, unit: str) -> float | str:
    """A figure in our unit, its own before that of its heading; a cell that is none stays as it is."""
    pair, units = _figure(cell), _table()["units"]
    if pair is None:
        return cell
    value, own = pair
    if own == "%":
        return value / 100
    times: float = units.get(own, {}).get(of) or units.get(unit, {}).get(of) or 1.0
    return value * times


def _units(
    table: OwnTable, lines: Sequence[Sequence[str]]
) -> tuple[dict[str, str], dict[str, list[Sentence]]]:
    """The unit of each figure, and what had to be assumed of it."""
    specs = _table()["figures"][table.kind]
    units: dict[str, str] = {}
    notes: dict[str, list[Sentence]] = {}
    for heading in table.headings:
        if not heading.figure:
            continue
        name, mine = heading.column, notes.setdefault(heading.column, [])
        units[name] = heading.unit
        cells = [
            pair for line in lines if heading.place < len(line) if (pair := _figure(line[heading.place]))
        ]
        bare = [value for value, unit in cells if not unit]
        if "least" in specs[name] and not heading.unit and bare:
            units[name] = "s" if max(bare) < specs[name]["least"] else "ms"
            mine.append(say("{column}: no unit stated, read as {unit}", column=name, unit=units[name]))
        if heading.unit in {"gb", "mb"}:
            mine.append(say("{column}: GB read as GiB", column=name))
        if heading.statistic == MEDIAN:
            mine.append(say("{column}: a median, compared with the predicted mean", column=name))
    return units, notes


def _unread(table: OwnTable) -> list[Sentence]:
    """The columns that nothing was made of."""
    if not table.unread:
        return []
    more = " ..." if len(table.unread) > MOST_SHOWN else ""
    return [say("columns not used: {columns}", columns=", ".join(table.unread[:MOST_SHOWN]) + more)]


def _runs(
    kind: str,
    fields: dict[str, object],
    *,
    figures: dict[str, object],
    notes: dict[str, tuple[Sentence, ...]],
    line: int,
) -> Iterator[Run]:
    fields["arch"] = model_named(fields.get("model"))
    if kind == "training":
        total, chips = figures.pop("tok_per_s", None), number(fields.get("n_chips"))
        if total is not None:
            each = total / chips if isinstance(total, float) and chips else total
            figures.setdefault("tok_per_s_per_chip", each)
        sentences = tuple(dict.fromkeys(note for some in notes.values() for note in some))
        yield Run(kind=kind, cells=cells({**fields, **figures}), notes=sentences, line=line)
        return
    batch = fields.pop("batch", None)
    assumed: tuple[Sentence, ...] = ()
    if not {"load", "rate_per_s"} & fields.keys():
        fields["load"] = batch or 1
        assumed = (
            () if batch else (say("{column} not stated: assuming {value}", column="concurrency", value=1),)
        )
    alone = "rate_per_s" not in fields and number(fields["load"]) == 1
    fields["mode"] = "single" if alone else "serve"
    if "speed" in figures:
        figures.setdefault("decode_tok_s_per_user" if alone else "output_tok_s_total", figures.pop("speed"))
    for metric, value in figures.items():
        row = {**fields, "metric": metric, "value": value}
        sentences = (*assumed, *(notes.get(metric) or notes.get("speed", ())))
        yield Run(kind=kind, cells=cells(row), notes=sentences, line=line)


OUTPUT = OutputFormat(
    name="own table", claims=lambda document: _read(document) is not None, rows=_rows, by_hand=True
)
