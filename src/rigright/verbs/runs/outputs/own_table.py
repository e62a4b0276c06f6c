"""A table that people made themselves, a column a metric, headed in their words (data/own_columns.toml)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from rigright.base.bounded import bounded_csv
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.base.units import KILO
from rigright.base.words import Sentence, say
from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, model_named, number
from rigright.verbs.runs.setup import RunSetup

MOST_CHARS, MOST_COLUMNS, MOST_SHOWN = 80, 200, 6  # of a heading; of a table; of columns that a note names
LEAST = 3  # columns that must be known before a table is taken for one of runs
PRIMARY, MEDIAN, OTHER = "mean", "median", "other"
OURS = frozenset(
    {"metric", "value", "value_gib", "img_size", "cpu_cores", "id"}
)  # of tables of our own kinds
_WORDS = re.compile(r"[a-z]+\d*|\d+[a-z]*|[\u4e00-\u9fff]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_BRACKETS = re.compile(r"[(\[（].{0,40}?[)\]）]")
_RULE = re.compile(r"[|\s:\-]+")
_FIGURE = re.compile(
    r"~?\s*([\d,]+(?:\.\d+)?)\s*(k)?\s*(ms|s|sec|us|gib|gb|mib|mb|tok/s|t/s|tokens/s|%)?\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a column of somebody's table holds, in our words."""

    place: int
    column: str
    figure: bool = False
    times: float | None = 1.0  # of our unit; None: the heading says no unit
    statistic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """A table as it was understood."""

    kind: str
    headings: tuple[Heading, ...]
    unread: tuple[str, ...]  # columns that nothing was made of
    rows: tuple[Sequence[str], ...]


@cache
def _named(kind: str) -> Mapping[str, tuple[str, bool]]:
    """Heading -> column of ours, and whether that is a figure."""
    table = read_toml(DATA / "own_columns.toml")
    plain = {head: (column, False) for column, heads in table["cells"][kind].items() for head in heads}
    figures = {
        head: (column, True) for column, spec in table["figures"][kind].items() for head in spec["heads"]
    }
    return {_key(head): found for head, found in {**plain, **figures}.items()}


def _words(text: str) -> list[str]:
    return _WORDS.findall(_CAMEL.sub(" ", text[:MOST_CHARS]).lower())


def _key(text: str) -> str:
    return " ".join(_words(text))


def _heading(text: str, place: int, *, kind: str) -> Heading | None:
    """A column by its heading: as it is written, else without its unit and its statistic."""
    named, table = _named(kind), read_toml(DATA / "own_columns.toml")
    words = _words(text)
    statistic = next((name for name, said in table["statistics"].items() if set(said) & set(words)), "")
    plain = [word for word in words if not any(word in said for said in table["statistics"].values())]
    units = [word for word in plain if word in table["units"]]
    bare = [word for word in plain if word not in table["units"]]
    outside = [word for word in _words(_BRACKETS.sub(" ", text)) if word in bare]
    for tried in (words, plain, bare, outside):
        column, is_figure = named.get(" ".join(tried), ("", False))
        if not column:
            continue
        if not is_figure and tried is bare and units:
            continue  # "output tokens/s" are no output tokens
        if not is_figure:
            return None if statistic else Heading(place=place, column=column)
        of = table["figures"][kind][column].get("of")
        if of is None:
            times: float | None = 1.0
        else:
            times = next((table["units"][unit][of] for unit in units if of in table["units"][unit]), None)
        return Heading(place=place, column=column, figure=True, times=times, statistic=statistic)
    return None


def _kind(heads: Sequence[str]) -> str:
    """Which kind of table it is: a training where a heading stands that only such have."""
    marks = set(read_toml(DATA / "own_columns.toml")["kinds"]["training"])
    found = [_heading(head, 0, kind="training") for head in heads]
    return "training" if marks & {one.column for one in found if one is not None} else "inference"


def _read(found: Document) -> OwnTable | None:
    """The table that a file is; None: it is none, or not enough of it is known."""
    lines = _lines(found)
    if len(lines) < 2:  # a head and a row
        return None
    heads = [head.strip() for head in lines[0][:MOST_COLUMNS]]
    if OURS & set(heads):
        return None
    kind = _kind(heads)
    known = [_heading(head, place, kind=kind) for place, head in enumerate(heads)]
    taken = _best(one for one in known if one is not None)
    if (
        len(taken) < LEAST
        or not any(one.figure for one in taken)
        or not {"model", "chip"} & {one.column for one in taken}
    ):
        return None
    places = {one.place for one in taken}
    unread = tuple(head for place, head in enumerate(heads) if place not in places and head)
    return OwnTable(kind=kind, headings=taken, unread=unread, rows=tuple(lines[1:]))


def _best(found: Iterator[Heading]) -> tuple[Heading, ...]:
    """One column a figure: its mean before its median, and no other statistic; one a cell."""
    order = [PRIMARY, "", MEDIAN]
    taken: dict[str, Heading] = {}
    for one in found:
        if one.statistic == OTHER:
            continue
        mine = taken.get(one.column)
        if mine is None or order.index(one.statistic) < order.index(mine.statistic):
            taken[one.column] = one
    return tuple(taken.values())


def _lines(found: Document) -> list[Sequence[str]]:
    """Its lines of cells, the head first: of JSON, of Markdown, or apart by commas, semicolons or tabs."""
    if found.objects:
        if any(isinstance(cell, dict | list) for one in found.objects for cell in one.values()):
            return []  # a program's
        heads = list(dict.fromkeys(key for one in found.objects for key in one))
        return [
            heads,
            *[["" if one.get(head) is None else str(one[head]) for head in heads] for one in found.objects],
        ]
    text = found.text.lstrip("\ufeff \r\n")
    if text.startswith("|"):
        lines = (line.strip() for line in text.splitlines())
        told = (line for line in lines if line.startswith("|") and not _RULE.fullmatch(line))
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in told]
    try:
        return [cells for _, cells in bounded_csv(text.splitlines(keepends=True)) if cells]
    except ValueError:
        return []


def _figure(cell: str) -> float | None:
    """The figure of a cell, "1,880", "1.9k", "210 ms" as its heading means it."""
    match = _FIGURE.match(cell.strip())
    value = number(match[1]) if match else None
    return None if value is None or match is None else value * (KILO if match[2] else 1)


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """Each figure of each row; of a training, all of them in one."""
    del setup
    table = _read(found)
    if table is None:
        return
    specs: dict[str, Any] = read_toml(DATA / "own_columns.toml")["figures"][table.kind]
    times, notes = _units(table, specs)
    unread = _unread(table)
    for number_of, line in enumerate(table.rows, 2):
        told: dict[str, object] = {}
        figures: dict[str, object] = {}
        for one in table.headings:
            cell = line[one.place].strip() if one.place < len(line) else ""
            if not cell or cell.lower() in {"-", "n/a", "na", "none", "nan", "null"}:
                continue
            if not one.figure:
                told[one.column] = cell
                continue
            value = _figure(cell)
            figures[one.column] = cell if value is None else value * times[one.column]
        of = {name: (*notes[name], *unread) for name in figures}
        yield from _runs(table.kind, told, figures=figures, notes=of, line=number_of)


def _units(table: OwnTable, specs: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, list[Sentence]]]:
    """How many of our units each figure's are, and what had to be assumed of it."""
    times: dict[str, float] = {}
    notes: dict[str, list[Sentence]] = {}
    for one in table.headings:
        if not one.figure:
            continue
        name, mine = one.column, notes.setdefault(one.column, [])
        times[name] = 1.0 if one.times is None else one.times
        if one.times is None and "least" in specs[name]:
            values = [_figure(line[one.place]) or 0.0 for line in table.rows if one.place < len(line)]
            in_s = 0 < max(values, default=0.0) < specs[name]["least"]
            times[name] = KILO if in_s else 1.0
            mine.append(
                say("{column}: no unit stated, read as {unit}", column=name, unit="s" if in_s else "ms")
            )
        if one.statistic == MEDIAN:
            mine.append(say("{column}: a median, compared with the predicted mean", column=name))
    return times, notes


def _unread(table: OwnTable) -> list[Sentence]:
    """The columns that nothing was made of."""
    if not table.unread:
        return []
    more = " ..." if len(table.unread) > MOST_SHOWN else ""
    return [say("columns not used: {columns}", columns=", ".join(table.unread[:MOST_SHOWN]) + more)]


def _runs(
    kind: str,
    told: dict[str, object],
    *,
    figures: dict[str, object],
    notes: dict[str, tuple[Sentence, ...]],
    line: int,
) -> Iterator[Run]:
    told["arch"] = model_named(told.get("model"))
    if kind == "training":
        total = figures.pop("tok_per_s", None)
        if total is not None and "tok_per_s_per_chip" not in figures:
            chips = number(told.get("n_chips"))
            figures["tok_per_s_per_chip"] = total / chips if isinstance(total, float) and chips else total
        said = tuple(dict.fromkeys(note for some in notes.values() for note in some))
        yield Run(kind=kind, cells=cells({**told, **figures}), notes=said, line=line)
        return
    batch = told.pop("batch", None)
    if "load" not in told and "rate_per_s" not in told and batch is not None:
        told["load"] = batch
    alone = "rate_per_s" not in told and number(told.get("load", 1)) == 1
    told["mode"] = "single" if alone else "serve"
    speed = figures.pop("speed", None)
    if speed is not None:
        figures.setdefault(
            "decode_tok_s_per_user" if told["mode"] == "single" else "output_tok_s_total", speed
        )
    for metric, value in figures.items():
        said = notes.get(metric) or notes.get("speed", ())
        yield Run(kind=kind, cells=cells({**told, "metric": metric, "value": value}), notes=said, line=line)


OUTPUT = OutputFormat(
    name="own table", claims=lambda found: _read(found) is not None, rows=rows, by_hand=True
)
