"""How fast a case is that takes whole samples: every card works alone, on its own share of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rigright.choice.case import Case
from rigright.choice.networks import PAINT, READ, Network, beside_bytes, network_of, precisions
from rigright.cost.estimate import Estimate
from rigright.cost.images import ImageRun
from rigright.cost.layers import takes_samples
from rigright.facts.chips import Chip
from rigright.predict.images import BatchTime
from rigright.predict.samples import batch_time, network_rates, network_speed
from rigright.predict.timed import SampleSpeed

PARTS = ("compute", "memory", "fixed")


def sample_speed(case: Case) -> SampleSpeed | None:
    """Samples a second of all cards; None where the law knows neither such numbers nor such a network."""
    precision = precisions(case.arch).get(case.serving.weights)
    if precision is None or not takes_samples(case.arch):
        return None
    network = network_of(case.arch, image_px=case.image_px, steps=case.steps, tok=case.serving.context_tok)
    each = max(int(np.ceil(case.serving.batch / len(case.cards))), 1)
    run = ImageRun(precision=precision, compiled=case.serving.compiled)
    rate = _speed(case, network, run=run, each=each)
    if rate is None:
        return None
    compiled = None
    if network.does != READ:
        compiled = _speed(case, network, run=replace(run, compiled=True), each=each)
    time = _time(case, network, chip=case.cards[0].chip, run=run, each=each)
    every = each * len(case.cards)  # all cards' samples
    return SampleSpeed(
        unit="texts" if network.does == READ else "images",
        made=network.does == PAINT,
        batch_per_card=each,
        cards=len(case.cards),
        rate=rate,
        compiled=compiled,
        batch_s=Estimate(
            value=every / rate.value, low=every / rate.high, high=every / rate.low, mark=rate.mark
        ),
        parts_s=tuple((part, _one(getattr(time, f"{part}_s"))) for part in PARTS),
        image_px=network.image_px,
        steps=network.steps,
        length_tok=network.tok if network.does == READ else None,
        beside_bytes=beside_bytes(network.painter, case.serving.weights) if network.painter else 0.0,
    )


def _speed(case: Case, network: Network, *, run: ImageRun, each: int) -> Estimate | None:
    """What all cards come to, unlike ones too; None where a chip's rate is not stated."""
    estimates = []
    for card in case.cards:
        rate = each / _one(_time(case, network, chip=card.chip, run=run, each=each).total_s)
        estimates.append(network_speed(network, card.chip, value=rate, engine=case.engine.id))
    value, low, high = (
        sum(getattr(estimate, name) for estimate in estimates) for name in ("value", "low", "high")
    )
    if not np.isfinite(value):
        return None
    least = max(estimates, key=lambda estimate: estimate.high / estimate.low)
    return Estimate(value=value, low=low, high=high, mark=least.mark)


def _time(case: Case, network: Network, *, chip: Chip, run: ImageRun, each: int) -> BatchTime:
    rates = network_rates(network, (chip,), run=run, engine=case.engine.id)
    return batch_time(network, rates, batch=each)


def _one(value: object) -> float:
    return float(np.squeeze(np.asarray(value, dtype=float)))
