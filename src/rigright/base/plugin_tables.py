"""Rows that plugins add to the tables of `data/`: held to the rules of `data/plugin_columns.csv`, and marked.

A plugin's folder has tables of the same names and columns as ours. Its `corrections/` has rows whose key is
one of ours and which say only what is other; a row elsewhere with the key of one of ours is refused. A
plugin's facts count all or none, and the source of each row names the plugin.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

from rigright.base import plugins
from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError, RigError
from rigright.base.files import read_bounded
from rigright.base.money import currency_of
from rigright.base.plugins import FACTS, Plugin
from rigright.base.record import dataclass
from rigright.base.tables import DATA, CellReader, Row, bad_cell, number, open_rows, raw_rows, read_all, yes
from rigright.base.units import MIB
from rigright.base.words import Sentence, say

CORRECTIONS, MODELS, RULES = "corrections", "models.jsonl", "plugin_columns.csv"
ADDED = "plugin "  # how the source of a row begins that a plugin adds
MOST_BYTES, MOST_ROWS, MOST_CHARS = 4 * MIB, 5000, 1000
_MODEL = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
Raw = dict[str, str]
Key = tuple[str, ...]
_READ: set[str] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginColumn:
    """What may stand in a column."""

    column: str
    kind: str  # "text", "source", "number", "whole", "numbers", "words", "day", "yes", "currency", "row"
    allowed: str  # a pattern, "least..most", words, or the table that a row of is named
    needed: bool
    key: str  # "key": part of what tells rows apart; "own", "own words": no other row has it; ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row of a plugin, as it counts."""

    plugin: Plugin
    table: str
    row: Raw
    corrects: bool = False
    told: tuple[str, ...] = ()  # words of an answer that show its use; none: every answer of its table


@cache
def rules(table: str) -> tuple[PluginColumn, ...]:
    """The rules of a table; none where plugins add nothing to it."""
    return _rules().get(table, ())


@cache
def _rules() -> dict[str, tuple[PluginColumn, ...]]:
    found: dict[str, tuple[PluginColumn, ...]] = {}
    for _, row in raw_rows(DATA / RULES):
        table = row.pop("table")
        rule = PluginColumn(**{**row, "needed": bool(row["needed"])})  # type: ignore[arg-type]
        found[table] = (*found.get(table, ()), rule)
    return found


def read_facts(table: str, readers: Mapping[str, CellReader], *, required: tuple[str, ...] = ()) -> list[Row]:
    """Read one of our tables with the rows of plugins: corrected in their places, the others behind."""
    _READ.add(table)
    path = DATA / table
    rows = _with_plugins(table, raw_rows(path, required=tuple(readers)))
    return read_all(path, rows, readers=readers, required=required)


def _with_plugins(table: str, rows: Iterator[tuple[int, Raw]]) -> Iterator[tuple[int, Raw]]:
    corrected = {
        _key(fact.table, fact.row): fact.row for fact in facts() if fact.corrects and fact.table == table
    }
    for line, raw in rows:
        yield line, corrected.get(_key(table, raw), raw) if corrected else raw
    yield from ((0, fact.row) for fact in facts() if fact.table == table and not fact.corrects)


@cache
def facts() -> tuple[Fact, ...]:
    """Every row of every plugin that counts."""
    found: tuple[Fact, ...] = ()
    for plugin in plugins.plugins(FACTS):
        try:
            found += tuple(_facts_of(plugin, found))
        except RigError as error:
            plugins.leave_out(plugin, say("its facts are"), why=error.sentence)
    return found


def _facts_of(plugin: Plugin, before: tuple[Fact, ...]) -> Iterator[Fact]:
    """All that its folder adds; an error where any of it is wrong."""
    folder = plugins.folder_of(plugin)
    try:
        files = [*sorted(folder.iterdir()), *sorted((folder / CORRECTIONS).glob("*"))]
    except OSError as error:
        raise DataError(say("cannot read {file}: {why}", file=folder, why=error.strerror or error)) from None
    files = [file for file in files if file.suffix in {".csv", ".jsonl", ".toml", ".json"}]
    for file in files:
        if file.name != MODELS and not rules(file.name):
            may = ", ".join([*_rules(), MODELS])
            raise DataError(
                say("rows cannot be added to {file}, only to {tables}", file=file.name, tables=may)
            )
    tables: dict[tuple[str, bool], list[tuple[int, Raw]]] = {
        (file.name, file.parent.name == CORRECTIONS): list(_raw(file))
        for file in files
        if file.name != MODELS
    }
    named = {
        table: {*_shipped(table), *(_key(table, fact.row) for fact in before if fact.table == table)}
        for table in _rules()
    }
    own = {
        table: {_key(table, raw) for _, raw in rows}
        for (table, corrects), rows in tables.items()
        if not corrects
    }
    for (table, corrects), rows in tables.items():
        for line, raw in rows:
            where = (table, line)
            if corrects:
                whole, changed = _corrected(where, raw)
                _check(where, whole, rows_of=named)
                row = _marked(plugin, table, raw=whole, changed=changed)
            else:
                _check(where, raw, rows_of={one: named[one] | own.get(one, set()) for one in named})
                _new(where, raw, known=named[table])
                named[table].add(_key(table, raw))
                row = _marked(plugin, table, raw=raw)
            yield Fact(plugin=plugin, table=table, row=row, corrects=corrects, told=_told(table, row))
    for file in files:
        if file.name == MODELS:
            yield from _models(plugin, file)


def _raw(file: Path) -> Iterator[tuple[int, Raw]]:
    """Its rows as text; a column that ours lacks is an error."""
    text = _text(file)
    columns = {rule.column for rule in rules(file.name)}
    for line, raw in open_rows(io.StringIO(text, newline=""), file.name, most_rows=MOST_ROWS):
        more = sorted(set(raw) - columns)
        if more:
            raise DataError(say("{file} has no column {column}", file=file.name, column=str(more[0])[:80]))
        yield (
            line,
            {column: raw.get(column, "").strip() for column in (rule.column for rule in rules(file.name))},
        )


def _text(file: Path) -> str:
    try:
        return read_bounded(file, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(say("{file} is not a CSV table: {why}", file=file.name, why=error)) from None


def _check(where: tuple[str, int], raw: Raw, *, rows_of: Mapping[str, set[Key]]) -> None:
    """Refuse the first cell that breaks a rule."""
    table, line = where
    for rule in rules(table):
        cell = raw[rule.column]
        if not cell and not rule.needed:
            continue
        keys = {key[0] for key in rows_of[rule.allowed]} if rule.kind == "row" else set()
        fits = bool(cell) and len(cell) <= MOST_CHARS and cell.isprintable()
        try:
            fits = fits and (cell in keys if rule.kind == "row" else _KINDS[rule.kind](cell, rule.allowed))
        except (ValueError, KeyError, OverflowError, RigError):
            fits = False
        if not fits:
            raise bad_cell(Path(table), line, column=rule.column, cell=cell[:80])


def _between(cell: str, allowed: str) -> bool:
    least, _, most = allowed.partition("..")
    return float(least) <= number(cell) <= float(most)


def _is_day(cell: str, _: str) -> bool:
    """A year, month or day that has come."""
    if not re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", cell):
        return False
    return date.fromisoformat(cell + "-01-01"[len(cell) - 4 :]) <= datetime.now(tz=UTC).date()


_KINDS: Mapping[str, Callable[[str, str], bool]] = {
    "text": lambda cell, allowed: not allowed or re.fullmatch(allowed, cell) is not None,
    "source": lambda cell, _: len(cell) > 5,
    "number": _between,
    "whole": lambda cell, allowed: cell.isdecimal() and _between(cell, allowed),
    "numbers": lambda cell, allowed: all(_between(one, allowed) for one in cell.split()),
    "words": lambda cell, allowed: cell in allowed.split("|"),
    "day": _is_day,
    "yes": lambda cell, _: yes(cell) is not None,
    "currency": lambda cell, _: currency_of(cell).code == cell,
}


def _key(table: str, raw: Mapping[str, str]) -> Key:
    return tuple(raw[rule.column] for rule in rules(table) if rule.key == "key")


@cache
def _shipped(table: str) -> dict[Key, Raw]:
    """Our own rows, as text."""
    return {_key(table, raw): raw for _, raw in raw_rows(DATA / table)}


def _new(where: tuple[str, int], raw: Raw, *, known: set[Key]) -> None:
    """Refuse a row that is there already, or that takes what another one has for its own."""
    table, line = where
    if _key(table, raw) in known:
        raise DataError(
            say(
                "{file}, line {line}: {row} already exists; put a correction in {folder}/{file}",
                file=table, line=line, row=" ".join(filter(None, _key(table, raw))), folder=CORRECTIONS,
            )
        )  # fmt: skip
    for rule in rules(table):
        if rule.key.startswith("own"):
            ours = {one for row in _shipped(table).values() for one in _own(rule, row)}
            taken = _own(rule, raw) & ours
            if taken:
                raise DataError(
                    say(
                        '{file}, line {line}, column {column}: "{cell}" already exists',
                        file=table,
                        line=line,
                        column=rule.column,
                        cell=min(taken),
                    )
                )


def _own(rule: PluginColumn, raw: Raw) -> set[str]:
    """What in a cell no other row may have."""
    cell = raw[rule.column].casefold()
    return set(cell.split()) if rule.key == "own words" else {cell}


def _corrected(where: tuple[str, int], raw: Raw) -> tuple[Raw, list[str]]:
    """Our row with what the plugin says, and the columns that are other."""
    table, line = where
    ours = _shipped(table).get(_key(table, raw))
    if ours is None:
        row = " ".join(filter(None, _key(table, raw)))
        raise DataError(say("{file}, line {line}: no {row} to correct", file=table, line=line, row=row))
    source = next(rule.column for rule in rules(table) if rule.kind == "source")
    if not raw[source]:
        raise bad_cell(Path(table), line, column=source, cell="")
    changed = [column for column, cell in raw.items() if cell and cell != ours[column] and column != source]
    return ours | {column: cell for column, cell in raw.items() if cell}, changed


def _marked(plugin: Plugin, table: str, *, raw: Raw, changed: list[str] | None = None) -> Raw:
    """The row, whose source names the plugin."""
    source = next(rule.column for rule in rules(table) if rule.kind == "source")
    said = f"{ADDED}{plugin}: {raw[source]}"
    if changed is not None:
        said = f"{_shipped(table)[_key(table, raw)][source]}; {' '.join(changed)} by {said}"
    return raw | {source: said}


def _told(table: str, raw: Raw) -> tuple[str, ...]:
    """What an answer says where the row counts."""
    named = {"chips.csv": ("id", "name"), "clouds.csv": ("instance",), "prices.csv": ("chip",),
             "chip_production.csv": ("chip",)}  # fmt: skip
    return tuple(raw[column] for column in named.get(table, ()))


def _models(plugin: Plugin, file: Path) -> Iterator[Fact]:
    """Configs of models, one a line."""
    for line, text in enumerate(_text(file).splitlines(), 1):
        if not text.strip():
            continue
        try:
            config: Any = bounded_json(text)
            name, source = config["_model"], config["_source"]
            fits = _MODEL.fullmatch(name) is not None and len(source) > 5
        except (ValueError, KeyError, TypeError, IndexError):
            fits = False
        if not fits:
            raise DataError(
                say("{file}, line {line}: no config with _model and _source", file=file.name, line=line)
            )
        row = {"_model": name, **config, "_source": f"plugin {plugin}: {source}"}
        raw = {"name": name, "config": json.dumps(row, separators=(",", ":"))}
        yield Fact(plugin=plugin, table=MODELS, row=raw, told=(name,))


def used(answer: str) -> Sentence | None:
    """Which facts of plugins count in an answer, by its text; None: none of them."""
    found: dict[str, dict[str, dict[str, None]]] = {}  # plugin -> what the answer speaks of -> tables
    for fact in facts():
        told = [one for one in fact.told if re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", answer)]
        if told or (not fact.told and fact.table in _READ):
            rows = found.setdefault(str(fact.plugin), {}).setdefault(told[0] if told else "", {})
            rows[fact.table.partition(".")[0]] = None
    shown = [
        f"{plugin}: " + ", ".join(f"{of} ({', '.join(tables)})".strip() for of, tables in rows.items())
        for plugin, rows in found.items()
    ]
    return say("includes facts from plugin {facts}", facts="; ".join(shown)) if shown else None
