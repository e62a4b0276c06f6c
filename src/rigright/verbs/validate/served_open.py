"""What a row of serving leaves open, filled as `explain` fills it where the row is of no run of anybody's."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rigright.arch.record import Arch
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.choice.case import Case
from rigright.cost.weights import has_experts
from rigright.demand import Layout, ServingWish
from rigright.facts.nodes import find_node
from rigright.verbs.validate.served_asks import cards_of, layouts_of

MANY = 4096  # questions whose cases are kept
_CUT = ("tp", "pp", "dp", "ep", "attention_dp")


def is_question(row: Row) -> bool:
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
    notes = [
        say("{column} not stated: assuming {value}", column=name, value=_shown(chosen, name)) for name in left
    ]
    return row | chosen, tuple(notes)


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


@lru_cache(maxsize=MANY)
def _case(arch: Arch, machine: str, *, wish: ServingWish) -> Case:
    from rigright.search.single import single

    return single(arch, find_node(machine), wish=wish).case
