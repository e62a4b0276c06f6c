"""Memory rank by rank, and how far batch and length can grow."""

from __future__ import annotations

import numpy as np

from rigright.base.units import MIB
from rigright.cost.training.learners import trunk_of
from rigright.cost.training.setup import stage_edge
from rigright.demand import Numbers
from rigright.predict.trained_memory import PARTS, least_bytes, most_bytes, shown_stage, stage_of
from rigright.verbs.training.case import TrainingOnCards
from rigright.verbs.training.trained import RankUse, Reach

MOST_BATCH = 4096
MOST_TOK = MIB
STEP_TOK = 128  # lengths are tried in steps of so many tokens


def rank_uses(case: TrainingOnCards) -> tuple[RankUse, ...]:
    """One entry for each pipeline stage."""
    memory, layout = case.memory(), case.layout
    layers = len(trunk_of(case.arch).layers)
    at_peak = memory.parts
    uses = []
    for stage in range(layout.pp):
        phases = {name: stage_of(sizes, stage) for name, sizes in memory.phases.items()}
        parts = ((part, stage_of(at_peak[part], stage)) for part in PARTS)
        least = stage_of(memory.least_bytes, stage)
        shown = shown_stage(memory, stage, room_bytes=case.card_bytes)
        given_back = stage_of(memory.device_bytes, stage) - shown.value
        uses.append(
            RankUse(
                stage=stage,
                ranks=layout.tp * layout.dp * layout.cp,
                layers=(
                    int(stage_edge(layers, layout.pp, stage=stage)),
                    int(stage_edge(layers, layout.pp, stage=stage + 1)),
                ),
                parts_bytes=tuple((part, size) for part, size in parts if size > 0),
                phases_bytes=tuple(phases.items()),
                peak_phase=max(phases, key=lambda name: phases[name]),
                allocated_bytes=stage_of(memory.allocated_bytes, stage),
                reserved_bytes=stage_of(memory.reserved_bytes, stage) - given_back,
                used_bytes=shown.value,
                used_low_bytes=shown.low,
                used_high_bytes=shown.high,
                least_bytes=least,
                least_high_bytes=most_bytes(least, narrow=memory.narrow),
                total_bytes=case.card_bytes,
            )
        )
    return tuple(uses)


def reach(case: TrainingOnCards) -> Reach:
    """The largest micro-batch at this length, and the longest sequence at this micro-batch."""
    limit = case.arch.max_context_tok
    has_sequence = trunk_of(case.arch).sample_tok is None and bool(case.arch.vocab)
    batches = np.arange(1, MOST_BATCH + 1)
    lengths = np.arange(STEP_TOK, min(limit or MOST_TOK, MOST_TOK) + 1, STEP_TOK)
    return Reach(
        micro_batch=_largest(case, "micro_batch", values=batches),
        seq_tok=_largest(case, "seq_tok", values=lengths) if has_sequence and len(lengths) else None,
        model_context_tok=limit,
    )


def _largest(case: TrainingOnCards, name: str, *, values: Numbers) -> int:
    """The largest of rising values that fits on every stage; one call for all of them."""
    tried = case.over(**{name: values})
    fits = least_bytes(tried.arch, tried.training, layout=tried.layout) <= case.card_bytes
    return int(values[fits][-1]) if fits.any() else 0
