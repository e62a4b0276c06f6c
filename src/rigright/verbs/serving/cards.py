"""What every card of a case holds, with its bands."""

from __future__ import annotations

from rigright.choice.case import Case
from rigright.cost.memory_bands import Parts, away, band, parts_of, pool_band, widened
from rigright.cost.memory_device import device_of
from rigright.cost.memory_serving import Bound, ServingMemory
from rigright.facts.nodes import Card
from rigright.predict.ranks import by_card
from rigright.verbs.serving.explained import PARTS, CardUse


def card_uses(case: Case) -> tuple[CardUse, ...]:
    """Every card in use, stage by stage."""
    return tuple(_use(case, card, found=found, bound=bound) for card, found, bound in by_card(case))


def _use(case: Case, card: Card, *, found: ServingMemory, bound: Bound | None) -> CardUse:
    device = device_of(card, case.engine)
    sizes = tuple((part, float(getattr(found, f"{part}_bytes"))) for part in PARTS)
    pooled = case.engine.pool == "share"
    used = max(float(found.device_bytes), float(found.need_bytes))  # what does not fit is more than a share
    wider = widened(away(case.engine, card.chip.id))
    parts = Parts(counted=used) if pooled else parts_of(found)
    low, high = map(float, band("preallocated" if pooled else "device", used, parts=parts, wider=wider))
    pool = float(found.pool_bytes)
    least, most = map(float, pool_band(found, wider=wider))
    return CardUse(
        index=card.index,
        chip=card.chip.name,
        chip_id=card.chip.id,
        parts_bytes=sizes,
        pool_bytes=pool,
        pool_low_bytes=least,
        pool_high_bytes=most,
        used_bytes=used,
        low_bytes=low,
        high_bytes=min(high, float(device.total_bytes)) if pooled and used <= device.total_bytes else high,
        total_bytes=float(device.total_bytes),
        free_bytes=float(device.free_bytes),
        spare_bytes=float(found.spare_bytes),
        layers=bound,
    )
