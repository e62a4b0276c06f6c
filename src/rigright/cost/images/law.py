"""Time of a pass over a batch of samples, forward or as a training step, on one chip or several."""

from __future__ import annotations

import numpy as np

from rigright.base.record import dataclass
from rigright.cost.images.rates import ImageRates
from rigright.cost.images.work import ImageWork
from rigright.cost.links import Wire, all_reduce_s
from rigright.demand import Numbers

BACK_LAUNCHES = 3.0  # kernels of a training step over those of a forward pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTime:
    """Seconds of one step of one chip's batch, by what they go into."""

    compute_s: Numbers  # what computing alone would take
    memory_s: Numbers  # and moving maps and weights
    launch_s: Numbers  # and starting kernels
    busy_s: Numbers  # the three, overlapped
    state_s: Numbers  # the optimizer
    link_s: Numbers  # gradients that nothing hides

    @property
    def total_s(self) -> Numbers:
        """The step."""
        return self.busy_s + self.state_s + self.link_s


def forward(work: ImageWork, rates: ImageRates, *, batch: Numbers) -> ImageTime:
    """A forward pass over so many samples."""
    compute_s, memory_s = _parts(work, rates, batch=batch)
    return _time(work, rates, compute_s=compute_s, memory_s=memory_s, passes=1.0)


def train(
    work: ImageWork, rates: ImageRates, *, batch: Numbers, ranks: Numbers = 1, wire: Wire | None = None
) -> ImageTime:
    """A training step over so many samples a chip; gradients are summed over `ranks` chips."""
    compute_s, memory_s = _parts(work, rates, batch=batch)
    alone = _time(
        work,
        rates,
        compute_s=compute_s * (1 + rates.back_compute),
        memory_s=memory_s * (1 + rates.back_traffic),
        passes=BACK_LAUNCHES,
    )
    summed_s = 0.0 if wire is None else all_reduce_s(rates.elem_bytes * work.params, ranks, wire=wire)
    return ImageTime(
        compute_s=alone.compute_s,
        memory_s=alone.memory_s,
        launch_s=alone.launch_s,
        busy_s=alone.busy_s * (1 + rates.drag * np.log2(np.maximum(ranks, 1))),
        state_s=work.params * rates.state_bytes / rates.mem_bytes_per_s,
        link_s=np.maximum(summed_s - rates.hidden * alone.busy_s, 0.0),
    )


def _parts(work: ImageWork, rates: ImageRates, *, batch: Numbers) -> tuple[Numbers, Numbers]:
    compute_s = 2 * work.macs * batch / rates.flops_per_s
    moved = batch * (work.acts * rates.traffic + work.pairs * rates.pair_traffic) + work.params
    return compute_s, moved * rates.elem_bytes / rates.mem_bytes_per_s


def _time(
    work: ImageWork, rates: ImageRates, *, compute_s: Numbers, memory_s: Numbers, passes: float
) -> ImageTime:
    kernels = work.kernels * rates.starts * passes
    launch_s = kernels * rates.launch_s
    both_s = (compute_s**rates.sharp + memory_s**rates.sharp) ** (1 / rates.sharp)
    return ImageTime(
        compute_s=compute_s,
        memory_s=memory_s,
        launch_s=launch_s,
        busy_s=np.maximum(both_s + kernels * rates.kernel_s, launch_s),
        state_s=0.0,
        link_s=0.0,
    )
