"""A layout nobody told: the fastest that fits, among those the batch and the model allow."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.tables import Row
from rigright.cost.training_memory import training_memory
from rigright.cost.training_setup import set_up
from rigright.cost.training_time import training_rates, training_time
from rigright.cost.training_towers import trunk_of
from rigright.demand import Layout, Training
from rigright.facts.chips import Chip

CUTS = (1, 2, 4, 8)
STAGES = (1, 2, 4, 8, 16)
ROOM = 0.95  # of a card


def best_layout(arch: Arch, training: Training, *, chip: Chip, row: Row) -> Layout:
    """Of all ways to cut a model over so many chips, the fastest that fits; else the smallest on a chip."""
    layout, samples = _choices(arch, row)
    batch = row.get("global_batch") or samples.max()
    counts = np.maximum(batch // (training.micro_batch * layout.dp), 1)
    tried = replace(training, accumulate=counts)
    held = training_memory(arch, tried, layout=layout).least_bytes
    setup = set_up(tried, hidden=trunk_of(arch).hidden)
    time = training_time(arch, tried, layout=layout, rates=training_rates([chip], setup))
    fits = np.broadcast_to(held, samples.shape) <= ROOM * chip.mem_usable_bytes
    speed = np.where(fits, time.tok_per_s_per_chip, 0.0)
    place = int(np.argmax(speed) if fits.any() else np.argmin(held))
    cuts: dict[str, Any] = {name: int(getattr(layout, name)[place]) for name in ("tp", "pp", "cp", "dp")}
    return Layout(**cuts, ep=1, sequence_parallel=layout.sequence_parallel)


def _choices(arch: Arch, row: Row) -> tuple[Layout, np.ndarray]:
    """Cuts that divide the chips and leave no replica without a sample."""
    chips, batch = int(row.get("n_chips") or 1), row.get("global_batch")
    layers = len(trunk_of(arch).layers)
    told = row.get("cp")
    found = [
        (tp, pp, cp, chips // (tp * pp * cp))
        for tp, pp, cp in product(CUTS, STAGES, [int(told)] if told else CUTS)
        if chips % (tp * pp * cp) == 0 and pp <= layers
    ]
    kept = [cut for cut in found if batch is None or cut[3] <= batch] or found
    tp, pp, cp, dp = (np.array(column) for column in zip(*kept, strict=True))
    return Layout(tp=tp, pp=pp, cp=cp, dp=dp, ep=np.ones_like(tp), sequence_parallel=True), dp
