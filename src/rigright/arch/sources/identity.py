"""What is known of a model beside its architecture: release, licence, advertised context, Ollama's tag."""

from __future__ import annotations

import csv
import io
from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, CellReader, read_cells, text, whole

_READERS: dict[str, CellReader] = dict.fromkeys(
    ("name", "base", "stored", "task", "released", "licence", "ollama", "aliases", "source", "confidence"),
    text,
)
_READERS |= {"params": whole, "context_tok": whole}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A published model: what its publisher says of it."""

    name: str  # as the hub spells it
    base: str | None  # the model of the zoo whose architecture it has; None: its own, or not known here
    stored: str | None  # format of its files, where neither its name nor its base tells
    task: str | None
    released: str | None  # ISO date
    licence: str | None
    params: int | None  # as published
    context_tok: int | None  # as advertised
    ollama: str | None  # tag in Ollama's library
    aliases: tuple[str, ...]
    source: str
    confidence: str


def identity_of(name: str) -> Identity | None:
    """The row of a model by its whole name, a part of a pipeline being its whole."""
    whole_name = name.partition("#")[0]
    start = _text().find(f"\n{whole_name},") + 1
    return _read(_text()[start : _text().index("\n", start)]) if start else None


@cache
def identities() -> tuple[Identity, ...]:
    """Every row, in the order of names."""
    return tuple(_read(line) for line in _text().splitlines()[1:])


@cache
def shared() -> dict[str, str]:
    """Models that have the architecture of another: their names -> the zoo's."""
    rows = (line.split(",", 2)[:2] for line in _text().splitlines()[1:])
    return {name: base for name, base in rows if base}


@cache
def _text() -> str:
    return (DATA / "model_identity.csv").read_text(encoding="utf-8")


@cache
def _columns() -> list[str]:
    return _text()[: _text().index("\n")].split(",")


def _read(line: str) -> Identity:
    cells = dict(zip(_columns(), next(csv.reader(io.StringIO(line))), strict=True))
    row, _ = read_cells(cells, _READERS, required=("name", "source", "confidence"))
    aliases = tuple(part.strip() for part in (row.pop("aliases") or "").split("|") if part.strip())
    return Identity(aliases=aliases, **row)
