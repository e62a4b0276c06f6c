"""Names as tables of others write them: read as the nearest thing we know, with how far the band widens."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

from rigright.arch.sources.spelling import spell
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.base.words import Sentence, say
from rigright.facts.corrections import corrections
from rigright.facts.engines import engines, find_engine
from rigright.facts.find import find_chip
from rigright.facts.formats import GGUF, GgufMix, find_format, find_kv_format, ggml_types, mixes
from rigright.facts.nodes import find_node
from rigright.verbs.validate.record import lookup

BITS = 8
_WHOLE = ("BF16", "F16", "F32", "MXFP4")  # types of GGUF that are named without a size
WIDE = frozenset({"fp32", "float32"})
MOST_CHARS = 400  # of a cell that is read
_MAKERS_FORM = re.compile(r"\s-\s(small|medium|large)\b", re.IGNORECASE)  # llama-bench: "Q4_K - Medium"
_BPW = re.compile(r"(\d{1,2}(?:\.\d{1,4})?)\s*bpw", re.IGNORECASE)
_MARKS = re.compile(r"\((?:r|tm|c)\)|[\u00ae\u2122]", re.IGNORECASE)
_ACCELERATOR = re.compile(r"(?:accelerator|card as given|gpu as named|gpu|chip)s?:\s*([^;|]+)", re.IGNORECASE)
_SIZE = re.compile(r"\b\d+(?:\.\d+)?\s*gi?b\b.*", re.IGNORECASE)
_LIST = re.compile(r"\w\s*[,;|]\s*\w|\bor\b")  # several things: none of them is what ran
_NO_CARD = re.compile(r"none \(CPU:\s*([^;]+)\)\s*(?:;|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAs:
    """What a cell is read as."""

    cell: str
    note: Sentence | None = None
    wider: float = 1.0


@cache
def table() -> dict[str, Any]:
    """The words of others (data/foreign.toml)."""
    return read_toml(DATA / "foreign.toml")


@cache
def engine_of(asked: str) -> ReadAs:
    """An engine under one of the names of its builds, wrappers and servers; others stay as they are."""
    if (
        asked.strip().lower() in corrections("speed_streams")["callings"]
        or lookup(find_engine, asked) is not None
    ):
        return ReadAs(cell=asked)
    rows = [row for part in re.split(r"[,;|]", asked[:MOST_CHARS]) if (row := word("engine", part))]
    row = word("engine", asked)
    several = len({row["is"] for row in rows}) > 1
    return ReadAs(cell=asked) if row is None or several else _read("engine", asked, row=row)


@cache
def weights_of(
    asked: str, *, model: str = "", vendor: str = "", engine: str = "", many: bool = False
) -> ReadAs:
    """A format of weights; tables of memory add the engine in brackets."""
    written, bracket, behind = asked.partition(" (")
    plain = written.strip().lower()
    if _LIST.search(written):
        return ReadAs(cell=asked)
    of_chip = word("format", plain, beside=vendor, apart=True)
    if (
        many and plain in WIDE and vendor in {"NVIDIA", "AMD"}
    ):  # lists of submissions say what a model came in
        return _read("weights", asked, row=table()["unserved"])
    if (of_chip is None or plain.startswith(GGUF)) and _is_format(plain, engine):
        return ReadAs(cell=asked)
    if bracket:
        inside = weights_of(written, model=model, vendor=vendor, engine=engine)
        return replace(inside, cell=f"{inside.cell}{bracket}{behind}")
    return _loose_weights(
        asked, model=model, row=of_chip or word("format", plain, beside=vendor), vendor=vendor
    )


def _loose_weights(asked: str, *, model: str, row: dict[str, Any] | None, vendor: str) -> ReadAs:
    """A format that only looks like one we know."""
    plain = asked.strip().lower()
    if plain.startswith(("gguf", "ggml")) or _MAKERS_FORM.search(plain):
        return _gguf(asked, model)
    parts = [part for part in re.split(r"[/+]| and ", plain) if part.strip()]
    if len(parts) > 1:  # "BF16/F8_E4M3": the narrow one is of the matrices
        read = [weights_of(part, vendor=vendor) for part in parts]
        narrow = min(read, key=lambda read_as: (read_as.wider > 1.2, _narrowness(read_as.cell)))
        return _read("weights", asked, row={"is": narrow.cell, "wider": 1.1})
    if row is not None:
        return _read("weights", asked, row=row)
    stored = spell(asked).stored
    return ReadAs(cell=asked) if stored is None else _read("weights", asked, row={"is": stored, "wider": 1.0})


def _narrowness(form: str) -> float:
    """Bits of a weight; of a word that means another format in each engine, as "q4" does, the usual four."""
    return float(getattr(find_format(form), "bits", 4)) if lookup(find_format, form) else 4.0


@cache
def kv_of(asked: str) -> ReadAs:
    """A format of the cache."""
    if lookup(find_kv_format, asked) or _LIST.search(asked):
        return ReadAs(cell=asked)
    for part in re.split(r"[/+,;\s]", asked):
        if part and lookup(find_kv_format, part):
            return _read("kv", asked, row={"is": part, "wider": 1.05})
    return _read("kv", asked, row=word("kv", asked) or table()["unknown_kv"])


@cache
def chip_of(asked: str, note: str, *, host: bool) -> ReadAs | None:
    """A chip by its cell, else by what the note names; with `host` maybe a processor; None: unsaid."""
    read_as = _chip(asked)
    if read_as is not None:
        return read_as
    bare = _NO_CARD.search(note[:MOST_CHARS])
    if bare is not None and not asked:
        name = _MARKS.sub("", bare[1]).strip(" )")
        cell = f"2x {name}" if host else f"CPU {name}"  # of MLPerf, two sockets
        return _read("chip", bare[1], row={"is": cell, "wider": 1.3})
    noted = _ACCELERATOR.findall(note[:MOST_CHARS])
    for named in noted:
        parts = [part for part in re.split(r" and |[/+]", named) if part.strip()]
        read = [item for part in parts if (item := _chip(part)) is not None]
        if read:
            middle = read[len(read) // 2]
            wider = 1.15 if len(read) > 1 else middle.wider
            return _read("chip", named, row={"is": middle.cell, "wider": wider})
    return None


@cache
def image_chip_of(asked: str, *, beside: str, note: str) -> ReadAs | None:
    """The same of tables of images, where a processor is written with the word CPU before it."""
    if asked.upper().startswith("CPU"):
        return None
    if beside and lookup(find_chip, beside) is not None:
        return (
            None if lookup(find_chip, asked) else ReadAs(cell=beside, note=_note("gpu", asked, taken=beside))
        )
    return chip_of(asked, note, host=False)


def _chip(asked: str) -> ReadAs | None:
    """A chip by its name, else without marks and remarks."""
    text = _MARKS.sub("", asked[:MOST_CHARS]).strip()
    bare, unsized = text.partition("(")[0], _SIZE.sub("", text)
    for name, wider in ((asked, 1.0), (text, 1.0), (bare, 1.0), (unsized, 1.05)):
        chip = lookup(find_chip, name) if name.strip() else None
        node = lookup(find_node, name) if name.strip() and chip is None else None
        if chip is None and node is None:
            continue
        cell = name.strip() if node is None else node.cards[0].chip.id
        return ReadAs(cell=asked) if name == asked else _read("chip", asked, row={"is": cell, "wider": wider})
    return None


def _gguf(asked: str, model: str) -> ReadAs:
    """A GGUF file: its type as the cell says, or the model's name, or the bits; else the usual one."""
    row = table()["unknown_gguf"]
    for text in (asked, model):
        named = spell(_MAKERS_FORM.sub(lambda match: f"_{match[1][0]}", text)).stored or ""
        plain = next(
            (f"{GGUF}{item}" for item in _WHOLE if re.search(rf"\b{item}\b", text, re.IGNORECASE)), ""
        )
        stored = named if named.startswith(GGUF) else plain
        if stored:
            return _read("weights", asked, row={"is": stored, "wider": 1.0})
    bits = _BPW.search(asked) or _BPW.search(model)
    if bits is not None:

        def off(mix: GgufMix) -> tuple[float, bool, str]:
            kind = ggml_types()[mix.base]
            stored = kind.block_bytes * BITS / kind.block_elems
            return round(abs(stored - float(bits[1])), 1), "IQ" in mix.id, mix.id

        row = {"is": min(mixes().values(), key=off).id, "wider": 1.1}
    return _read("weights", asked, row=row)


def _is_format(asked: str, engine: str = "") -> bool:
    plain = asked.strip().lower()
    called = corrections("speed_streams")["callings"].get(engine.strip().lower(), {}).get("like", engine)
    speakers = [find_engine(called)] if lookup(find_engine, called) else list(engines().values())
    says = any(plain in speaker.says for speaker in speakers)
    return says or plain in corrections("speed_streams")["spoken"] or lookup(find_format, asked) is not None


def word(column: str, asked: str, *, beside: str = "", apart: bool = False) -> dict[str, Any] | None:
    """The first row whose pattern a cell bears, beside another; `apart`: of rows that say beside what."""
    text = asked.strip().lower()[:MOST_CHARS]
    rows: list[dict[str, Any]] = [row for row in table()[column] if "beside" in row or not apart]
    return next(
        (row for row in rows if re.search(row["pattern"], text) and re.search(row.get("beside", ""), beside)),
        None,
    )


def _read(column: str, asked: str, *, row: dict[str, Any]) -> ReadAs:
    return ReadAs(cell=row["is"], note=_note(column, asked, taken=row["is"]), wider=float(row["wider"]))


def _note(column: str, asked: str, *, taken: str) -> Sentence:
    return say('{column} "{asked}": using {taken}', column=column, asked=asked.strip()[:60], taken=taken)
