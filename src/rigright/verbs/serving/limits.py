"""How far a case goes, as `explain` tells it."""

from __future__ import annotations

import numpy as np

from rigright.choice.case import Case
from rigright.cost.memory_kv import token_bytes
from rigright.cost.memory_serving import ServingMemory
from rigright.facts.kv_formats import find_kv_format
from rigright.predict.limits import context_limit, largest_batch
from rigright.verbs.serving.explained import CardUse, Limits


def limits(case: Case, memory: ServingMemory, *, fullest: CardUse) -> Limits:
    """Largest context at this batch, largest batch at this context, and the pool the engine will log."""
    own = case.arch.max_context_tok
    element_bytes = find_kv_format(case.serving.kv).element_bytes
    token = np.max(token_bytes(case.arch, case.layout, element_bytes=element_bytes))
    # a pool of states alone holds sequences, not tokens
    pooled = case.engine.pool == "share" and float(memory.unit_bytes) > 0 and float(token) > 0
    return Limits(
        context_tok=context_limit(case),
        batch=largest_batch(case),
        model_context_tok=own,
        pool_tok=int(memory.pool_tok) if pooled else None,
        pool_low_tok=_pool_tok(memory, fullest.pool_low_bytes) if pooled else None,
        pool_high_tok=_pool_tok(memory, fullest.pool_high_bytes) if pooled else None,
        blocks=int(memory.blocks) if pooled else None,
        block_tok=float(memory.unit_tok) if pooled else None,
        token_bytes=float(token) / case.layout.pp,
    )


def _pool_tok(memory: ServingMemory, pool_bytes: float) -> int:
    """Tokens in a pool of so many bytes."""
    return int(max(pool_bytes, 0.0) // float(memory.unit_bytes) * float(memory.unit_tok))
