"""Names and notes as tables of others write them: read as the nearest thing we know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from rigright.arch.sources.spelling import spell
from rigright.base.record import dataclass
from rigright.base.tables import DATA, Row, read_cells, read_toml
from rigright.base.words import Sentence, say
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine, at_date, engines, engines_in, find_engine
from rigright.facts.find import find_chip
from rigright.facts.formats import GGUF, GgufMix, find_format, find_kv_format, ggml_types, mixes
from rigright.facts.nodes import find_node
from rigright.verbs.runs.columns import columns_of
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


_MOST_TEXT = 2000  # of a text that is read
MANY = 4096  # texts that are remembered
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
        cells |= _cells(kind, sources, text=text[:_MOST_TEXT]) if text else {}
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
    for name in (inside, match[1] if match else None, *engines_in(note), *engines_in(source)):
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


def _card(text: str) -> str | None:
    """A card in a short stretch of text, words cut off both ends until something is known."""
    if not _CHIP.search(text):
        return None
    words = text.split()
    starts = [start for start, word in enumerate(words) if _CHIP.match(word)]
    spans = (" ".join(words[start:end]) for start in starts for end in range(len(words), start, -1))
    return next((span for span in spans if lookup(find_node, span)), None)
