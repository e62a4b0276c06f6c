"""Engines and cards that a memory row names in its format, note or source: into columns of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rigright.base.errors import RigError
from rigright.base.tables import Row
from rigright.facts.engines import Engine, at_date, engines, find_engine
from rigright.facts.nodes import find_node

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9.+-]*")
_INSIDE = re.compile(r"(?P<format>[^(]+?)\s*\((?P<engine>.+)\)\s*\Z")
_ENGINE = re.compile(r"engine ([^;,]+)")
_VERSION = re.compile(r"\s+(?:v?(\d+(?:\.\d+)+)|b(\d{3,5}(?:\.\d+)*)\b)")  # 0.8.5, b7000
_CHIP = re.compile(r"\b(?:\d+\s*x\s*)?(?:[A-Z]{1,5}\d{2,4}|[RG]TX \d{3,4}|L4|T4|A2|M\d |[Ss]trix)")
_DATE = re.compile(r"\((\d{4}-\d{2}-\d{2})\)")


def named(row: Row, raw: Mapping[str, str]) -> Row:
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
    for words in (name, name.partition("(")[0].strip(), name.rsplit(maxsplit=1)[-1]):
        try:
            return find_engine(words)
        except RigError:
            continue
    return None


def _engines_in(text: str) -> list[str]:
    """Words of a text that are names of engines, the last first."""
    known = {word for engine in engines().values() for word in (engine.id, engine.label.lower())}
    words = [name for word in reversed(_WORD.findall(text)) for name in (word, word.rpartition("-")[0])]
    return [word for word in words if word.lower() in known]


def _card(text: str) -> str | None:
    """A card in a short stretch of text, words cut off both ends until something is known."""
    if not _CHIP.search(text):
        return None
    words = text.split()
    spans = ((start, end) for start in range(len(words)) for end in range(len(words), start, -1))
    for start, end in spans:
        if not _CHIP.match(words[start]):
            continue
        try:
            find_node(" ".join(words[start:end]))
        except RigError:
            continue
        return " ".join(words[start:end])
    return None
