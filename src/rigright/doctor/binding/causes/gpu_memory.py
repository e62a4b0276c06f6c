"""The accelerators' memory bandwidth: the driver's share of time in which it was read or written."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.means import mean_of, percent
from rigright.doctor.binding.record import WORKING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("GPU memory bandwidth")
SIDE = WORKING
REMEDIES = (
    step(say("larger batches: weights are read once per batch")),
    step(say("quantize weights and KV cache: fp8, 4-bit"), "rigright explain MODEL"),
    step(say("fused kernels and attention: intermediates stay on chip")),
)


def weigh(moment: Moment) -> float | None:
    """Of the time it had work at all."""
    shares = [
        one.mem_busy_share / one.busy_share
        for one in moment.devices
        if one.mem_busy_share is not None and one.busy_share
    ]
    return sum(shares) / len(shares) if shares else None


def tell(moments: Sequence[Moment]) -> Evidence:
    """How busy memory was."""
    share = percent(mean_of(moments, lambda one: one.mem_busy_share))
    return Evidence(
        shows=say("GPU memory active {share} of the time", share=share),
        command="nvidia-smi dmon -s u",
    )
