"""Small kernels: the cards are never without one and yet draw little, since each gives them little to do."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.lockstep import drawn
from rigright.doctor.binding.means import mean_of, percent
from rigright.doctor.binding.record import WORKING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("small kernels")
SIDE = WORKING
REMEDIES = (
    step(say("larger batches, or packed sequences")),
    step(say("CUDA graphs or torch.compile: fewer kernel launches")),
    step(say("fewer .item(), .cpu() and print() calls in the loop: each synchronises with the GPU")),
)
_LITTLE_POWER, _LITTLE_MEMORY = 0.4, 0.25  # shares of the limit and of time; by experience, no law
_LIKELY = 0.9


def weigh(moment: Moment) -> float | None:
    """Busy by the driver's count, at rest by the meter."""
    told = [one for one in moment.devices if drawn(one) is not None and one.mem_busy_share is not None]
    if not told:
        return None
    idling = [
        one
        for one in told
        if (drawn(one) or 0) < _LITTLE_POWER and (one.mem_busy_share or 0) < _LITTLE_MEMORY
    ]
    return _LIKELY * len(idling) / len(told)


def tell(moments: Sequence[Moment]) -> Evidence:
    """Busy against drawn."""
    busy = percent(mean_of(moments, lambda one: one.busy_share))
    draw = percent(mean_of(moments, drawn))
    shows = say(
        "kernels ran {busy} of the time at only {draw} of the power limit",
        busy=busy,
        draw=draw,
    )
    return Evidence(shows=shows, command="nvidia-smi dmon -s pu")
