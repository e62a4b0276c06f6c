"""A file that some program wrote: its text, its JSON, and what a reader makes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.tables import MAX_TABLE_BYTES
from rigright.base.words import Sentence, say
from rigright.verbs.runs.columns import RunSetup

MOST_BYTES = MAX_TABLE_BYTES
_MOST = 1e18  # of any figure
_MOST_DEPTH = 12  # of a look into nested objects
_JSON = re.compile(r'\s*(?:\{\s*["}]|\[\s*[{\]])')  # a log may begin with "[2025-07-14 ..." or "{'loss': ..."
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_FILES = (".gguf", ".safetensors", ".bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole file; `objects` are those of its JSON or JSON lines, none where it is neither."""

    name: str
    text: str
    folder: Path | None = None  # where it lies
    objects: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A row of one of our tables: cells by column, as text."""

    kind: str  # of the table
    cells: Mapping[str, str]
    notes: tuple[Sentence, ...] = ()  # how its file was understood
    line: int = 0  # of a table; 0: it is known by its number


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFormat:
    """What one program writes. Each file of `outputs/` bears one as `OUTPUT`."""

    name: str
    claims: Callable[[Document], bool]
    rows: Callable[[Document, RunSetup], Iterator[Run]]
    by_hand: bool = False  # no program wrote it: what its rows leave open is chosen, as for a question


def document(name: str, text: str, *, folder: Path | None = None) -> Document:
    """A file's text, and its JSON where it is some."""
    text = _COLOURS.sub("", text)
    return Document(name=name, text=text, folder=folder, objects=tuple(_objects(name, text)))


def _objects(name: str, text: str) -> Iterator[Mapping[str, Any]]:
    if not _JSON.match(text):
        return
    try:
        whole = bounded_json(text)
    except ValueError as error:
        first, _, rest = text.strip().partition("\n")
        if not rest or not _loads(first):
            raise DataError(
                say("{file} is not valid JSON: {why}", file=name, why=error),
                hint=say("was the run interrupted? run it again"),
            ) from None
        # JSON lines; blank ones do not count
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            value = _loads(line)
            if not isinstance(value, dict):
                raise DataError(
                    say("{file}, line {line}: not valid JSON", file=name, line=number),
                    hint=say("was the run interrupted? delete that line"),
                ) from None
            yield value
        return
    for item in whole if isinstance(whole, list) else [whole]:
        if isinstance(item, dict):
            yield item


def _loads(line: str) -> Any:
    try:
        return bounded_json(line)
    except ValueError:
        return None


def number(value: object) -> float | None:
    """A figure above zero, also from text such as "1,234.5"; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value.replace(",", "").strip())
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MOST:
        return None
    return float(value)


def word(value: object) -> str:
    """A short text; "" for anything else."""
    return value.strip()[:300] if isinstance(value, str) else ""


def inside(value: object, path: str) -> Any:
    """What stands at "a.b.c" of nested objects; None where nothing does."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def anywhere(value: object, key: str, *, depth: int = _MOST_DEPTH) -> Iterator[Any]:
    """All that stands under a key, however deep."""
    if depth <= 0:
        return
    if isinstance(value, Mapping):
        if key in value:
            yield value[key]
        for item in value.values():
            yield from anywhere(item, key, depth=depth - 1)
    elif isinstance(value, list):
        for item in value[:1000]:
            yield from anywhere(item, key, depth=depth - 1)


def cells(values: Mapping[str, object]) -> dict[str, str]:
    """Values as cells of a table; None and not finite ones are left out."""
    fields: dict[str, str] = {}
    for column, value in values.items():
        if value is None or value == "" or (isinstance(value, float) and not math.isfinite(value)):
            continue
        fields[column] = f"{value:.10g}" if isinstance(value, float) else str(value)
    return fields


def model_named(value: object) -> str:
    """A model as programs name it, a path or a hub id, as something that can be found here."""
    text = word(value).replace("\\\\", "/").replace("\\", "/").rstrip("/")
    try:
        here = Path(text).is_dir() or Path(text).is_file()
    except OSError:  # too long for a file's name
        here = False
    if not text or here:
        return text
    name = next((text.removesuffix(ending) for ending in _FILES if text.endswith(ending)), text)
    if name != text or text.count("/") != 1 or text.startswith(("/", ".")):
        name = name.rsplit("/", 1)[-1]
    return _SHARD.sub("", name)


def share(total: float | None, count: float | None) -> float | None:
    """So much each."""
    return total / count if total and count else None


def first(values: Iterable[Any]) -> Any:
    """The first of them that says something."""
    return next((value for value in values if value not in (None, "")), None)
