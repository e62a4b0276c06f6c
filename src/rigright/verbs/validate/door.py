"""The one door for foreign rows: every cell that names a thing is read as something that we know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from rigright.arch.record import Arch
from rigright.arch.sources.find import copied
from rigright.base.errors import RigError
from rigright.base.record import dataclass, replace
from rigright.base.tables import Row
from rigright.base.words import Sentence, say, with_semicolons
from rigright.choice.case import Case
from rigright.cost.weights import has_experts
from rigright.demand import Layout, ServingWish
from rigright.facts.find import find_chip
from rigright.facts.nodes import find_node
from rigright.terms.memory import weights_bytes
from rigright.verbs.validate import foreign
from rigright.verbs.validate.ask import count_of, is_encoding, model_of, most_bytes, node_of, unstated
from rigright.verbs.validate.foreign import ReadAs
from rigright.verbs.validate.record import Prediction, lookup
from rigright.verbs.validate.served_asks import cards_of, layouts_of

SURE = 1.15  # widened by less, a row is of what it names
COPY = 1.15  # of a model that is trained further, or written down otherwise
UNREAD = 1.2  # how much wider a band gets for a cell that cannot be read
BUILT_IN, OF_PROMPTS = "built-in GPU", frozenset({"ttft_ms", "prefill_tok_s", "latency_ms"})
ROOM, MOST_CARDS = 0.85, 64  # of the memory of chips that weights may fill, and how many chips are taken
MODEL = ("arch", "shape", "model")  # columns that name it
KEPT = 4096  # questions whose cases are kept
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
    if "arch" in row and named and not _opens(_names(row)):
        copy = copied(named)
        if copy is not None:  # else the name is refused where it is asked for, as everywhere
            out["arch"], out["shape"] = copy.name, None
            notes.append(say('using {model} for "{asked}"', model=copy.name, asked=named[:80]))
            wider *= COPY
    if kind == "inference":
        unsaid = _count_in(out)
        notes += unsaid
        wider *= foreign.table()["unsaid_cards"]["wider"] if unsaid else 1.0
    if kind == "inference" and _is_question(out):
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
    if kind != "training" and row.get("engine") and not is_encoding(row):  # they have engines of their own
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
    if row.get(column) and not is_encoding(row):  # encoders say a precision: TF32 is no format of weights
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


@cache
def _vendor(chip: str) -> str:
    match = lookup(find_chip, chip)
    return "" if match is None else match.vendor


def _count_in(row: Row) -> list[Sentence]:
    """Put in the cards of a row that counts none: as the cell of its chip does, else as many as hold it."""
    chip = row.get("chip") or ""
    if row.get("n_chips") or not chip:
        return []
    node = node_of(chip)
    count = 1 if node is None or node.is_mixed else count_of(node)
    row["n_chips"] = count if count > 1 else None
    if row["n_chips"] or row.get("tp"):
        return []
    cards = _cards(chip, names=_names(row), weights=row.get("weights"))
    if cards == 1:
        return []
    row["n_chips"] = cards
    return [unstated("n_chips", cards)]


@cache
def _cards(chip: str, *, names: tuple[str | None, ...], weights: str | None) -> int:
    """The chips that hold a model of which nobody says on how many it ran: one, two, four ..."""
    cards = 1
    try:
        arch, _ = model_of(dict(zip(MODEL, names, strict=True)))
        size = weights_bytes(arch, weights or arch.stored or arch.dtype)
        room = most_bytes(find_chip(chip))
    except RigError:
        return cards
    while size > ROOM * room * cards and cards < MOST_CARDS:
        cards *= 2
    return cards


def _names(row: Row) -> tuple[str | None, ...]:
    return tuple(row.get(column) for column in MODEL)


@cache
def _opens(names: tuple[str | None, ...]) -> bool:
    """Whether one of the names of a model answers; a name that does not is asked for once."""
    try:
        model_of(dict(zip(MODEL, names, strict=True)))
    except RigError:
        return False
    return True


_CUT = ("tp", "pp", "dp", "ep", "attention_dp")


def _is_question(row: Row) -> bool:
    """Whether a row asks what would be, not what somebody ran: no figure of it, or neither who nor when."""
    given = ("scenario", "task", "disagg", "offload", "cpu", "moe_tp", "note")
    ran = row.get("value") and (row.get("source") or row.get("measured"))
    parts = 0 in (row.get("prompt_tok"), row.get("output_tok"))  # of a request: benchmarks measure each alone
    return row.get("mode") in {"serve", "single"} and not (ran or parts or any(map(row.get, given)))


def filled(row: Row, arch: Arch) -> tuple[Row, tuple[Sentence, ...]]:
    """A question with its engine, formats, context and layout, and a sentence for each that it left open."""
    cards = cards_of(row)
    _, cut = layouts_of(row, chips=cards, assumed=[])
    wish = _wish(row, cut)
    # what people set is open in their own runs too; what engines do by themselves is not
    open_too = () if row.get("value") else ("kv", "context_tok")
    left = [name for name in ("engine", "weights", *open_too) if not row.get(name)]
    left += _open_cuts(wish, arch, cards=cards)
    if not left or not row.get("chip"):
        return row, ()
    each = len(find_node(row["chip"]).cards)  # some cards bear two chips, and some cells count theirs
    machine = row["chip"] if cards <= each else f"{cards // each}x {row['chip']}"
    case = _case(arch, machine, wish=wish)
    serving, layout, engine = case.serving, case.layout, case.engine
    backend = engine.backend_on(case.cards[0].chip.vendor)
    chosen: Row = {
        "engine": engine.id, "engine_version": engine.version, "backend": backend,
        "n_chips": layout.tp * layout.pp * layout.dp,
        "weights": serving.weights, "kv": serving.kv, "context_tok": float(serving.context_tok),
        **{name: getattr(layout, name) for name in _CUT}, "attn_dp": None,
    }  # fmt: skip
    return row | chosen, tuple(unstated(name, _shown(chosen, name)) for name in left)


def _open_cuts(wish: ServingWish, arch: Arch, *, cards: int) -> list[str]:
    """What is open of a layout and may be this or that; all of it goes by its first column."""
    if wish.tp is None:
        return ["tp"] if cards > 1 else []
    of_cards = ("pp", "dp") if wish.tp * (wish.pp or 1) * (wish.dp or 1) < cards else ()
    of_experts = ("ep", "attention_dp") if wish.tp > 1 and has_experts(arch) else ()
    return [name for name in (*of_cards, *of_experts) if getattr(wish, name) is None]


def _shown(chosen: Row, name: str) -> str:
    """What stands in for a column that a row leaves open."""
    if name == "engine":
        return f"{chosen['engine']} {chosen['engine_version']}"
    if name == "tp":
        cuts = [f"{part} {chosen[part]}" for part in ("tp", "pp", "ep") if chosen[part] > 1]
        return " ".join([*cuts, *(["attention_dp"] if chosen["attention_dp"] else [])]) or "1"
    if name == "attention_dp":
        return "yes" if chosen[name] else "no"
    return f"{chosen[name]:g}" if isinstance(chosen[name], float) else str(chosen[name])


def _wish(row: Row, cut: Layout | None) -> ServingWish:
    """What the row says, as somebody asks `explain`."""
    engine = row.get("engine")

    def tokens(column: str) -> int | None:
        return None if row.get(column) is None else int(row[column])

    return ServingWish(
        engine=f"{engine} {row.get('engine_version') or ''}".strip() if engine else None,
        weights=row.get("weights"),
        kv=row.get("kv"),
        prompt_tok=tokens("prompt_tok"),
        output_tok=tokens("output_tok"),
        context_tok=tokens("context_tok"),
        users=None if row.get("rate_per_s") else row.get("load"),
        rate_per_s=row.get("rate_per_s"),
        requests=tokens("requests"),
        budget_tok=tokens("max_num_batched_tokens"),
        max_seqs=tokens("max_num_seqs"),
        utilisation=row.get("gpu_memory_utilization"),
        **({} if cut is None else _layout_fields(row, cut)),
    )


def _layout_fields(row: Row, cut: Layout) -> dict[str, Any]:
    """A layout as somebody asks for it; what a run says nothing of its engine did by itself."""
    left = set() if row.get("value") else {name for name in ("pp", "dp", "ep") if row.get(name) is None}
    if "pp" not in left:  # then all of its cards say how many replicas
        left.discard("dp")
    if not cut.attention_dp and all(row.get(name) is None for name in ("attention_dp", "attn_dp")):
        left.add("attention_dp")
    return {name: getattr(cut, name) for name in _CUT if name not in left}


@lru_cache(maxsize=KEPT)
def _case(arch: Arch, machine: str, *, wish: ServingWish) -> Case:
    from rigright.search.single import single

    return single(arch, find_node(machine), wish=wish).case
