"""The accelerators' arithmetic: what is left where they work and nothing else of them is full."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.means import mean_of, percent
from rigright.doctor.binding.record import FULL, WORKING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("GPU compute")
SIDE = WORKING
REMEDIES = (
    step(say("use lower precision: bf16 instead of fp32, fp8 where the GPU supports it")),
    step(say("use fused attention and torch.compile; recompute less where memory allows")),
    step(say("see which GPU would be faster for this workload"), "rigright upgrade"),
)


def weigh(moment: Moment) -> float | None:
    """All that is left."""
    return FULL if moment.devices else None


def tell(moments: Sequence[Moment]) -> Evidence:
    """How hard they worked."""
    busy = percent(sum(moment.busy_share for moment in moments) / len(moments))
    draw = mean_of(
        moments, lambda one: one.power_w / one.power_limit_w if one.power_w and one.power_limit_w else None
    )
    if draw is None:
        return Evidence(shows=say("busy {busy}", busy=busy), command="nvidia-smi dmon -s pu")
    shows = say("GPU busy {busy} at {draw} of the power limit", busy=busy, draw=percent(draw))
    return Evidence(shows=shows, command="nvidia-smi dmon -s pu")
