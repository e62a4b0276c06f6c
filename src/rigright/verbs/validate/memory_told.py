"""What a memory row says of its run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rigright.base.tables import Row
from rigright.base.units import GIB
from rigright.facts.engines import Engine, find_engine
from rigright.facts.nodes import Card, find_node

USUAL_CARD = "a100 sxm4 80gb"  # where a row names none
USUAL_ENGINE = "transformers"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
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


def told_of(row: Row) -> MemoryRow:
    """Read a row's columns."""
    version = row.get("engine_version")
    name = row.get("engine") or USUAL_ENGINE
    engine = find_engine(f"{name} {version}" if version else name)
    form = (row.get("format") or "").strip()
    tp, pp = row.get("tp") or 1, row.get("pp") or 1
    prompt, output = row.get("prompt_tok"), row.get("output_tok")
    card = find_node(row.get("chip") or USUAL_CARD).cards[0]
    total_gib = row.get("total_memory_gib")
    if total_gib is not None:
        withheld = card.chip.mem_usable_bytes - card.chip.mem_program_bytes
        card = replace(card, total_bytes=total_gib * GIB + withheld)
    return MemoryRow(
        engine=engine,
        weights=engine.says.get(form.lower(), form),
        card=card,
        cards=max(row.get("n_chips") or 1, tp * pp),
        dp=row.get("dp") or 1,
        tp=tp,
        pp=pp,
        prompt_tok=prompt,
        context_tok=row.get("max_model_len") or (prompt + output if prompt and output else None),
        budget_tok=row.get("max_num_batched_tokens"),
        max_seqs=row.get("max_num_seqs"),
        share=row.get("gpu_memory_utilization"),
        graphs=(row.get("enforce_eager") or "").lower() != "true",
        flash=row.get("fa"),
        on_device=bool(row.get("on_device")),
        versioned=bool(version),
    )
