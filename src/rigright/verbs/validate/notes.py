"""Words of notes into columns: each is read once, where a row comes in, and only into an empty cell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

from rigright.base.record import dataclass
from rigright.base.tables import DATA, Row, read_cells, read_toml
from rigright.facts.engines import Engine, at_date, engines, find_engine
from rigright.facts.nodes import find_node
from rigright.verbs.runs.columns import columns_of
from rigright.verbs.validate.record import lookup

MOST_CHARS = 2000  # of a text that is read
MANY = 4096  # texts that are remembered
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9.+-]*")
_INSIDE = re.compile(r"(?P<format>[^(]+?)\s*\((?P<engine>.+)\)\s*\Z")
_ENGINE = re.compile(r"engine ([^;,]+)")
_VERSION = re.compile(r"\s+(?:v?(\d+(?:\.\d+)+)|b(\d{3,5}(?:\.\d+)*)\b)")  # 0.8.5, b7000
_CHIP = re.compile(r"\b(?:\d+\s*x\s*)?(?:[A-Z]{1,5}\d{2,4}|[RG]TX \d{3,4}|L4|T4|A2|M\d |[Ss]trix)")
_DATE = re.compile(r"\((\d{4}-\d{2}-\d{2})\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What some words of a note say."""

    column: str
    sources: tuple[str, ...]  # the columns whose text is read
    pattern: re.Pattern[str]
    cell: str | None  # what they stand for; None: their first group that matched
    metric: frozenset[str]  # rows they hold for; none: all
    mode: frozenset[str]

    def holds(self, row: Row) -> bool:
        """Whether it speaks of such a row; of one that names no mode, of any."""
        alike = not self.metric or row.get("metric") in self.metric
        return alike and (not self.mode or not row.get("mode") or row["mode"] in self.mode)


@cache
def noted(kind: str) -> tuple[Noted, ...]:
    """The words of a kind of table (data/notes.toml), in their order."""
    table = read_toml(DATA / "notes.toml")
    rows: list[dict[str, Any]] = table.get(table["same"].get(kind, kind), [])
    return tuple(
        Noted(
            column=row["column"],
            sources=tuple(row.get("from", ["note"])),
            pattern=re.compile(row["pattern"]),
            cell=row.get("cell"),
            metric=frozenset(row.get("metric", ())),
            mode=frozenset(row.get("mode", ())),
        )
        for row in rows
    )


def noted_cells(
    kind: str, raw: Mapping[str, str], *, required: tuple[str, ...] = ()
) -> tuple[Row, list[str]]:
    """The typed cells of a row, those that its notes fill among them; and the columns that cannot be read."""
    row, faults = read_cells(raw, columns_of(kind), required=required)
    return filled(kind, row, raw=raw), faults


def filled(kind: str, row: Row, *, raw: Mapping[str, str]) -> Row:
    """A row whose empty cells hold what its note says of them."""
    readers, fields, cells = columns_of(kind), Row(), dict[int, str]()
    for sources in {words.sources for words in noted(kind)}:
        text = "; ".join(filter(None, map(raw.get, sources)))
        cells |= _cells(kind, sources, text=text[:MOST_CHARS]) if text else {}
    for place in sorted(cells):
        words = noted(kind)[place]
        if row.get(words.column) is None and words.column not in fields and words.holds(row):
            with suppress(ValueError):  # a number no run can have
                fields[words.column] = readers[words.column](cells[place])
    row = {**row, **fields}
    return _named(row, raw) if kind == "memory" else row


@lru_cache(maxsize=MANY)
def _cells(kind: str, sources: tuple[str, ...], *, text: str) -> Mapping[int, str]:
    """What a text says, by the place of its words; runs of one place often bear one note."""
    cells: dict[int, str] = {}
    for place, words in enumerate(noted(kind)):
        match = words.pattern.search(text) if words.sources == sources else None
        cell = match and (words.cell or next(filter(None, match.groups()), None))
        if cell:
            cells[place] = cell
    return cells


def _named(row: Row, raw: Mapping[str, str]) -> Row:
    """The row with its engine, that one's version, its format and its card in their columns."""
    note, source = raw.get("note") or "", raw.get("source") or ""
    out = dict(row)
    inside = _INSIDE.match(row.get("format") or "")
    if inside:
        out["format"] = inside["format"].strip()
    if not row.get("engine"):
        engine, versioned = _engine(inside["engine"] if inside else None, note, source=source)
        out |= {"engine": engine.id, "engine_version": engine.version if versioned else None}
    if not row.get("chip"):
        parts = (*re.split(r"[;,:]", note), *re.split(r"[/:@]", source.replace("-", " ")))
        out["chip"] = next((chip for part in parts if (chip := _card(part))), None)
    return out


def _engine(inside: str | None, note: str, *, source: str) -> tuple[Engine, bool]:
    """The engine named in the format, in the note, or by the source; at its version, or at its date."""
    match = _ENGINE.search(note)
    for name in (inside, match[1] if match else None, *_engines_in(note), *_engines_in(source)):
        engine = _known(name.strip()) if name else None
        if engine is not None:
            break
    else:
        engine = find_engine("llama.cpp" if "gguf" in source.lower() else "transformers")
    for text in (note, source):
        place = text.lower().find(engine.id)
        version = _VERSION.match(text, place + len(engine.id)) if place >= 0 else None
        if version:
            return find_engine(f"{engine.id} {version[1] or version[2]}"), True
    date = _DATE.search(source)
    return (at_date(engine, date[1]), True) if date else (engine, False)


def _known(name: str) -> Engine | None:
    tried = (name, name.partition("(")[0].strip(), name.rsplit(maxsplit=1)[-1])
    return next((engine for words in tried if (engine := lookup(find_engine, words))), None)


def _engines_in(text: str) -> list[str]:
    """Words of a text that are names of engines, the last first."""
    names = {word for engine in engines().values() for word in (engine.id, engine.label.lower())}
    words = [name for word in reversed(_WORD.findall(text)) for name in (word, word.rpartition("-")[0])]
    return [word for word in words if word.lower() in names]


def _card(text: str) -> str | None:
    """A card in a short stretch of text, words cut off both ends until something is known."""
    if not _CHIP.search(text):
        return None
    words = text.split()
    starts = [start for start, word in enumerate(words) if _CHIP.match(word)]
    spans = (" ".join(words[start:end]) for start in starts for end in range(len(words), start, -1))
    return next((span for span in spans if lookup(find_node, span)), None)
