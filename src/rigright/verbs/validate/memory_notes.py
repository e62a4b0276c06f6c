"""What the format and the note of a memory row say: engine, version, cards, prompt, share."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rigright.base.errors import RigError
from rigright.base.tables import Row
from rigright.base.units import GIB
from rigright.facts.engines import Engine, at_date, engines, find_engine
from rigright.facts.nodes import Card, find_node

USUAL_CARD = "a100 sxm4 80gb"  # where a row names none
WORD = re.compile(r"[A-Za-z][A-Za-z0-9.+-]*")

_INSIDE = re.compile(r"(?P<format>[^(]+?)\s*\((?P<engine>.+)\)\s*\Z")
_ENGINE = re.compile(r"engine ([^;,]+)")
_VERSION = re.compile(r"\s+(?:v?(\d+(?:\.\d+)+)|b(\d{3,5}(?:\.\d+)*)\b)")  # 0.8.5, b7000
_CHIP = re.compile(r"\b(?:\d+\s*x\s*)?(?:[A-Z]{1,5}\d{2,4}|[RG]TX \d{3,4}|L4|T4|A2|M\d )")
_DATE = re.compile(r"\((\d{4}-\d{2}-\d{2})\)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*GiB GPU")
_TP = re.compile(r"\bTP\s*=?\s*(\d+)", re.IGNORECASE)
_PP = re.compile(r"\bPP\s*=?\s*(\d+)", re.IGNORECASE)
_GPUS = re.compile(r"(\d+) GPU\(s\)")
_TIMES = re.compile(r"\b(\d+)\s*x\s*[A-Z]")
_PROMPT = re.compile(r"prompt (\d+)\s*\+\s*(\d+)")
_SHARE = re.compile(r"\b(?:util|gpu_memory_utilization|mem-fraction-static)\s*=?\s*(0?\.\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a row says of how it was run."""

    engine: Engine
    weights: str
    card: Card
    cards: int
    tp: int
    pp: int
    prompt_tok: int | None
    context_tok: int | None
    share: float | None
    on_device: bool  # the figure is the driver's, not the framework's
    versioned: bool  # the engine's version is known


def read_notes(row: Row) -> Told:
    """Read a row's format, note and source."""
    note, source = row.get("note") or "", row.get("source") or ""
    form = row.get("format") or ""
    inside = _INSIDE.match(form)
    engine, versioned = _engine(inside["engine"] if inside else None, note, source=source)
    precision = (inside["format"] if inside else form).strip()
    tp = _number(_TP, note) or 1
    pp = _number(_PP, note) or 1
    prompt = _PROMPT.search(note)
    share = _SHARE.search(note)
    # the card a note names; a bare size makes the usual card of that size
    size = _SIZE.search(note)
    card = next((found for part in re.split(r"[;,:]", note) if (found := _find(part))), None)
    card = card or find_node(USUAL_CARD).cards[0]
    if size is None:
        named = card
    else:
        withheld = card.chip.mem_usable_bytes - card.chip.mem_program_bytes
        named = replace(card, total_bytes=float(size[1]) * GIB + withheld)
    return Told(
        engine=engine,
        weights=engine.says.get(precision.lower(), precision),
        card=named,
        cards=_number(_GPUS, note) or max(_number(_TIMES, note) or 1, tp * pp),
        tp=tp,
        pp=pp,
        prompt_tok=int(prompt[1]) if prompt else None,
        context_tok=int(prompt[1]) + int(prompt[2]) if prompt else None,
        share=float(share[1]) if share else None,
        on_device="nvidia-smi" in note or "device" in note,
        versioned=versioned,
    )


def _engine(inside: str | None, note: str, *, source: str) -> tuple[Engine, bool]:
    """The engine named in the format, in the note, or by the source; at its version, or at its date."""
    told = _ENGINE.search(note)
    for name in (inside, told[1] if told else None, *_named(note), *_named(source)):
        found = _known(name.strip()) if name else None
        if found is not None:
            break
    else:
        found = find_engine("llama.cpp" if "gguf" in source.lower() else "transformers")
    for text in (note, source):
        place = text.lower().find(found.id)
        version = _VERSION.match(text, place + len(found.id)) if place >= 0 else None
        if version:
            return find_engine(f"{found.id} {version[1] or version[2]}"), True
    date = _DATE.search(source)
    return (at_date(found, date[1]), True) if date else (found, False)


def _known(name: str) -> Engine | None:
    for words in (name, name.partition("(")[0].strip(), name.rsplit(maxsplit=1)[-1]):
        try:
            return find_engine(words)
        except RigError:
            continue
    return None


def _named(text: str) -> list[str]:
    """Words of a text that are names of engines, the last first."""
    known = {word for engine in engines().values() for word in (engine.id, engine.label.lower())}
    return [word for word in reversed(WORD.findall(text)) if word.lower() in known]


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _find(text: str) -> Card | None:
    """A card in a short stretch of text, words cut off its end until something is known."""
    if not _CHIP.search(text):
        return None
    words = text.split()
    for end in range(len(words), 0, -1):
        try:
            return find_node(" ".join(words[:end])).cards[0]
        except RigError:
            continue
    return None
