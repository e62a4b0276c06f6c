"""How fast a training learns from whole images: each card works on its own, gradients are summed."""

from __future__ import annotations

import numpy as np

from rigright.choice.networks import READ, network_of
from rigright.cost.estimate import Estimate
from rigright.cost.images import ImageRun
from rigright.cost.layers import takes_samples
from rigright.facts.nodes import Node
from rigright.predict.images import Learning
from rigright.predict.samples import learns_of, network_rates, network_speed, train_time
from rigright.predict.timed import SampleSpeed
from rigright.terms.fitted import wire_of
from rigright.verbs.training.case import TrainingOnCards

PARTS = ("compute", "memory", "fixed", "links")
LEAST_SHARE = 0.002  # of a step: what takes less is not stated


def learning_speed(case: TrainingOnCards, node: Node) -> SampleSpeed | None:
    """Images a second of all cards; None where texts are read, or layers are cut."""
    cut = case.layout.tp * case.layout.pp * case.layout.cp > 1
    if cut or not takes_samples(case.arch):
        return None
    network = network_of(case.arch, image_px=case.wish.image_size)
    if network.does == READ:
        return None
    run = ImageRun(precision="fp32" if case.training.precision == "fp32" else "16bit")
    chips = tuple(dict.fromkeys(card.chip for card in node.cards))
    rates = network_rates(network, chips, run=run, trains=True)
    learns = learns_of(case.arch, case.training)
    learning = Learning(ranks=case.layout.dp, wire=wire_of(chips), learns=learns)
    time = train_time(network, rates, batch=case.training.micro_batch, learning=learning)
    slowest = int(np.argmax(np.broadcast_to(time.total_s, len(chips))))
    step_s = _at(time.total_s, slowest)
    if not np.isfinite(step_s):
        return None
    whole = case.training.micro_batch * case.layout.dp
    rate = network_speed(network, chips[slowest], value=whole / step_s, trains=True, learns=learns)
    parts = {part: _at(getattr(time, f"{part}_s"), slowest) for part in PARTS}
    return SampleSpeed(
        unit="images",
        made=False,
        batch_per_card=int(case.training.micro_batch),
        cards=int(case.layout.dp),
        rate=rate,
        compiled=None,
        batch_s=Estimate(value=step_s, low=whole / rate.high, high=whole / rate.low, mark=rate.mark),
        parts_s=tuple((part, size) for part, size in parts.items() if size > LEAST_SHARE * step_s),
        image_px=network.image_px,
    )


def _at(values: object, place: int) -> float:
    result = np.atleast_1d(np.asarray(values, dtype=float))
    return float(result[min(place, len(result) - 1)])
