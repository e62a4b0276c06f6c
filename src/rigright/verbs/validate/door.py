"""The one door for foreign rows: every cell that names a thing is read as something that we know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from rigright.arch.sources.find import copied
from rigright.base.errors import RigError
from rigright.base.record import dataclass, replace
from rigright.base.tables import Row
from rigright.base.words import Sentence, say, with_semicolons
from rigright.facts.find import find_chip
from rigright.facts.nodes import find_node
from rigright.facts.units import devices_of
from rigright.terms.memory import weights_bytes
from rigright.verbs.validate import foreign
from rigright.verbs.validate.ask import model_of
from rigright.verbs.validate.foreign import ReadAs
from rigright.verbs.validate.record import Prediction
from rigright.verbs.validate.served_open import filled, is_question

SURE = 1.15  # widened by less, a row is of what it names
COPY = 1.15  # of a model that is trained further, or written down otherwise
UNREAD = 1.2  # how much wider a band gets for a cell that cannot be read
BUILT_IN, OF_PROMPTS = "built-in GPU", frozenset({"ttft_ms", "prefill_tok_s", "latency_ms"})
ROOM, MOST_CARDS = 0.85, 64  # of the memory of chips that weights may fill, and how many chips are taken
MANY = frozenset({"serve", "max"})  # loads of more than one stream or batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A row as our readers take it, and what had to be read otherwise than it is written."""

    row: Row
    notes: tuple[Sentence, ...] = ()
    wider: float = 1.0

    def told(self, prediction: Prediction) -> Prediction:
        """A prediction that says what was read otherwise, its band as much wider."""
        if not self.notes:
            return prediction
        basis = prediction.basis
        if basis is not None and self.wider > SURE:
            basis = replace(basis, stand_in=True)
        return replace(
            prediction.widened(self.wider), why=with_semicolons([*self.notes, prediction.why]), basis=basis
        )


def enter(kind: str, row: Row, *, raw: Mapping[str, str], faults: Sequence[Sentence] = ()) -> Entered:
    """A row as the readers of its kind take it; `faults` are of cells that could not be read."""
    out, notes, wider = dict(row), list[Sentence](), 1.0
    for fault in faults:
        notes.append(say("{fault}; treated as empty", fault=fault))
        wider *= UNREAD
    for column, reading in _readings(kind, row, raw=raw):
        if reading is not None and reading.note is not None:
            out[column] = reading.cell
            notes.append(reading.note)
            wider *= reading.wider
    named = row.get("arch") or row.get("model")
    if (
        "arch" in row
        and named
        and not _opens(row.get("arch"), shape=row.get("shape"), model=row.get("model"))
    ):
        copy = copied(named)
        if copy is not None:  # else the name is refused where it is asked for, as everywhere
            out["arch"], out["shape"] = copy.name, None
            notes.append(say('using {model} for "{asked}"', model=copy.name, asked=named[:80]))
            wider *= COPY
    if kind == "inference":
        unsaid = _counted_in(out)
        notes += unsaid
        wider *= foreign.table()["unsaid_cards"]["wider"] if unsaid else 1.0
    if kind == "inference" and is_question(out):
        out, chosen = filled(out, model_of(out)[0])
        notes += chosen
    if kind == "hybrid" and BUILT_IN in (row.get("offload") or ""):
        out |= {"offload": None, "n_gpus": 0}
        notes.append(say("ran on integrated graphics: using the CPU"))
        wider *= foreign.table()["built_in"]["prompt" if row.get("metric") in OF_PROMPTS else "token"]
    return Entered(row=out, notes=tuple(notes), wider=wider)


def _readings(kind: str, row: Row, *, raw: Mapping[str, str]) -> Iterator[tuple[str, ReadAs | None]]:
    """What each cell that names a thing is read as."""
    note = row.get("note") or ""
    chip = row.get("chip") or row.get("chip_name") or ""
    if kind != "training" and row.get("engine") and not _encodes(row):
        yield "engine", foreign.engine_of(row["engine"])
    if kind == "vision":
        yield (
            "gpu",
            foreign.image_chip_of(row.get("gpu") or "", beside=(raw.get("chip") or "").strip(), note=note),
        )
    elif kind == "training" or (kind == "inference" and not row.get("cpu")):
        yield "chip", foreign.chip_of(chip, note, host=kind == "inference")
    elif kind in {"memory", "inference"} and chip:
        yield "chip", foreign.chip_of(chip, "", host=False)
    column = {"inference": "weights", "memory": "format"}.get(kind, "")
    if row.get(column) and not _encodes(row):  # those say a precision: TF32 is no format of weights
        yield (
            column,
            foreign.weights_of(
                row[column],
                model=row.get("model") or "",
                vendor=_vendor(chip),
                engine=row.get("engine") or "",
                many=row.get("mode") in MANY,
            ),
        )
    if row.get("kv"):
        yield "kv", foreign.kv_of(row["kv"])


def _encodes(row: Row) -> bool:
    """Encoders have engines of their own."""
    return row.get("metric") == "latency_ms" and row.get("output_tok") == 0


@cache
def _cards(chip: str, *, named: tuple[str | None, ...], weights: str | None) -> int:
    """The chips that hold a model of which nobody says on how many it ran: one, two, four ..."""
    cards = 1
    try:
        arch, _ = model_of(dict(zip(("arch", "shape", "model"), named, strict=True)))
        size = weights_bytes(arch, weights or arch.stored or arch.dtype)
        room = max(find_chip(chip).mem_bytes, *find_chip(chip).mem_options_bytes, 0.0)
    except RigError:
        return cards
    while size > ROOM * room * cards and cards < MOST_CARDS:
        cards *= 2
    return cards


def _counted_in(row: Row) -> list[Sentence]:
    """Put in the cards of a row that counts none: as the cell of its chip does, else as many as hold it."""
    chip = row.get("chip") or ""
    if row.get("n_chips") or not chip:
        return []
    row["n_chips"] = _counted(chip)
    if row["n_chips"] or row.get("tp"):
        return []
    named = tuple(row.get(name) for name in ("arch", "shape", "model"))
    cards = _cards(chip, named=named, weights=row.get("weights"))
    if cards == 1:
        return []
    row["n_chips"] = cards
    return [say("{column} not stated: assuming {value}", column="n_chips", value=cards)]


@cache
def _counted(chip: str) -> int | None:
    """The cards of one kind that a cell counts itself: "8x h100"; None: it counts none."""
    try:
        node = find_node(chip)
    except RigError:
        return None
    count = node.n_cards // devices_of(node.cards[0].chip) if node.cards and not node.is_mixed else 1
    return count if count > 1 else None


@cache
def _vendor(chip: str) -> str:
    try:
        return find_chip(chip).vendor
    except RigError:
        return ""


@cache
def _opens(arch: str | None, *, shape: str | None, model: str | None) -> bool:
    """Whether one of the names of a model answers; a name that does not is asked for once."""
    try:
        model_of({"arch": arch, "shape": shape, "model": model})
    except RigError:
        return False
    return True
