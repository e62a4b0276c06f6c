"""What a memory row says of its run, in columns of their own or in its format, note and source."""

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
_CHIP = re.compile(r"\b(?:\d+\s*x\s*)?(?:[A-Z]{1,5}\d{2,4}|[RG]TX \d{3,4}|L4|T4|A2|M\d |[Ss]trix)")
_DATE = re.compile(r"\((\d{4}-\d{2}-\d{2})\)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*GiB(?: GPU|\))")
_TP = re.compile(r"\bTP\s*=?\s*(\d+)", re.IGNORECASE)
_PP = re.compile(r"\b(?:PP\s*=?|pp\s*=)\s*(\d+)")  # pp512 is a prompt of llama-bench
_GPUS = re.compile(r"(\d+) GPU\(s\)")
_TIMES = re.compile(r"\b(\d+)\s*x\s*[A-Z]")
_PROMPT = re.compile(r"prompt (\d+)\s*\+\s*(\d+)")
_FLASH = re.compile(r"-fa (\d)")
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
    dp: int
    prompt_tok: int | None
    context_tok: int | None
    budget_tok: int | None
    max_seqs: int | None
    share: float | None
    graphs: bool
    flash: bool | None
    on_device: bool  # the figure is the driver's, not the framework's
    versioned: bool  # the engine's version is known


def read_notes(row: Row) -> Told:
    """Read a row's format, note and source."""
    note, source = row.get("note") or "", row.get("source") or ""
    form = row.get("format") or ""
    inside = _INSIDE.match(form)
    engine, versioned = _typed(row) or _engine(inside["engine"] if inside else None, note, source=source)
    precision = (inside["format"] if inside else form).strip()
    tp = row.get("tp") or _number(_TP, note) or 1
    pp = row.get("pp") or _number(_PP, note) or 1
    prompt = _PROMPT.search(note)
    share = _SHARE.search(note)
    # the card a note names; a bare size makes the usual card of that size
    size = _SIZE.search(note)
    parts = (*re.split(r"[;,:]", note), *re.split(r"[/:@]", source.replace("-", " ")))
    card = next((found for part in parts if (found := _find(part))), None)
    chip = row.get("chip")
    card = find_node(chip).cards[0] if chip else card or find_node(USUAL_CARD).cards[0]
    total_gib = row.get("total_memory_gib") or (float(size[1]) if size else None)
    if total_gib is None:
        named = card
    else:
        withheld = card.chip.mem_usable_bytes - card.chip.mem_program_bytes
        named = replace(card, total_bytes=total_gib * GIB + withheld)
    flash = _FLASH.search(note)
    return Told(
        engine=engine,
        weights=engine.says.get(precision.lower(), precision),
        card=named,
        cards=_number(_GPUS, note) or max(_number(_TIMES, note) or 1, tp * pp),
        dp=row.get("dp") or 1,
        tp=tp,
        pp=pp,
        prompt_tok=int(prompt[1]) if prompt else None,
        context_tok=row.get("max_model_len") or (int(prompt[1]) + int(prompt[2]) if prompt else None),
        budget_tok=row.get("max_num_batched_tokens"),
        max_seqs=row.get("max_num_seqs"),
        share=row.get("gpu_memory_utilization") or (float(share[1]) if share else None),
        graphs=(row.get("enforce_eager") or "").lower() != "true",
        flash=flash[1] != "0" if flash else None,
        on_device=any(word in note for word in ("nvidia-smi", "device", "VRAM+GTT")),
        versioned=versioned,
    )


def _typed(row: Row) -> tuple[Engine, bool] | None:
    """The engine in a column of its own, at the version beside it."""
    name, version = row.get("engine"), row.get("engine_version")
    if not name:
        return None
    return find_engine(f"{name} {version}" if version else name), bool(version)


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
    words = [name for word in reversed(WORD.findall(text)) for name in (word, word.rpartition("-")[0])]
    return [word for word in words if word.lower() in known]


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _find(text: str) -> Card | None:
    """A card in a short stretch of text, words cut off both ends until something is known."""
    if not _CHIP.search(text):
        return None
    words = text.split()
    spans = ((start, end) for start in range(len(words)) for end in range(len(words), start, -1))
    for start, end in spans:
        if not _CHIP.match(words[start]):
            continue
        try:
            return find_node(" ".join(words[start:end])).cards[0]
        except RigError:
            continue
    return None
