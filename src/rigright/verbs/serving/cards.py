"""What every card and the main memory of a case hold, with bands, and how far the case goes."""

from __future__ import annotations

import numpy as np

from rigright.choice.case import Case
from rigright.choice.offload import flags, ram_bytes, ram_words
from rigright.cost.bands import Parts
from rigright.cost.memory.kv import token_bytes
from rigright.cost.memory.serving import PARTS, Bound, ServingMemory, parts_of
from rigright.facts.formats import find_kv_format
from rigright.facts.nodes import Card
from rigright.predict.ranks import by_card, context_limit, largest_batch
from rigright.predict.speed import traffic_of
from rigright.terms.memory import away, band, device_of, pool_band, widened
from rigright.verbs.serving.explained import UNUSED, CardUse, RamUse, ServingReach


def card_uses(case: Case) -> tuple[CardUse, ...]:
    """Every card in use, stage by stage."""
    return tuple(_use(case, card, memory=memory, bound=bound) for card, memory, bound in by_card(case))


def _use(case: Case, card: Card, *, memory: ServingMemory, bound: Bound | None) -> CardUse:
    device = device_of(card, case.engine)
    sizes = {part: float(getattr(memory, f"{part}_bytes")) for part in PARTS}
    pooled = case.engine.pool == "share"
    used = max(float(memory.device_bytes), float(memory.need_bytes))  # what does not fit is more than a share
    wider = widened(away(case.engine, card.chip.id))
    parts = Parts(counted=used) if pooled else parts_of(memory)
    low, high = map(float, band("preallocated" if pooled else "device", used, parts=parts, wider=wider))
    high = min(high, float(device.total_bytes)) if pooled and used <= device.total_bytes else high
    pool = float(memory.pool_bytes)
    least, most = map(float, pool_band(memory, wider=wider))
    return CardUse(
        index=card.index,
        chip=card.chip.id,
        name=card.chip.name,
        layers=bound,
        parts_bytes=(*sizes.items(), (UNUSED, max(pool - sizes["cache"] - sizes["states"], 0.0))),
        pool_bytes=pool,
        pool_low_bytes=least,
        pool_high_bytes=most,
        used_bytes=used,
        used_low_bytes=low,
        used_high_bytes=high,
        total_bytes=float(device.total_bytes),
        free_bytes=float(device.free_bytes),
        spare_bytes=float(memory.spare_bytes),
    )


def limits(case: Case, memory: ServingMemory, *, fullest: CardUse) -> ServingReach:
    """Largest context at this batch, largest batch at this context, and the pool the engine will log."""
    own = case.arch.max_context_tok
    element_bytes = find_kv_format(case.serving.kv).element_bytes
    token = np.max(token_bytes(case.arch, case.layout, element_bytes=element_bytes))
    # a pool of states alone holds sequences, not tokens
    pooled = case.engine.pool == "share" and float(memory.unit_bytes) > 0 and float(token) > 0
    return ServingReach(
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


def ram_use(case: Case) -> RamUse | None:
    """What lies in main memory, what the processor does of each token, and the flags that say so.

    None where everything lies on the cards.
    """
    offload, host, traffic = case.serving.offload, case.host, traffic_of(case)
    if offload is None or host is None:
        return None
    from rigright.predict.beside import token_parts

    layers, batch = case.arch.trunk.layers, case.serving.budget_tok
    inside_s, token_s = token_parts(
        case, seqs=float(traffic.concurrency or 1), context_tok=traffic.prompt_tok + traffic.output_tok / 2
    )
    return RamUse(
        used_bytes=ram_bytes(case.arch, case.serving, offload=offload),
        total_bytes=host.ram_bytes,
        layers=offload.layers,
        experts=offload.experts,
        all_layers=len(layers),
        moe_layers=sum(1 for layer in layers if layer.ffn is not None and layer.ffn.experts),
        flags=flags(case.arch, offload, engine=case.engine, batch_tok=batch),
        words=ram_words(case.arch, offload, engine=case.engine, batch_tok=batch),
        token_s=inside_s,
        cards_s=max(token_s - inside_s, 0.0),
    )
