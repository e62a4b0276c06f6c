"""The processor: all its cores are busy."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.means import mean_of_host, percent
from rigright.doctor.binding.record import WAITING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("CPU (all cores)")
SIDE = WAITING
REMEDIES = (
    step(say("preprocess data once and store the result; decode and augment on the GPU")),
    step(say("find the best number of workers"), "rigright bench dataloader preprocess"),
    step(say("check what else runs on this machine"), "top"),
)


def weigh(moment: Moment) -> float | None:
    """Of all cores together."""
    return moment.host.cpu_share


def tell(moments: Sequence[Moment]) -> Evidence:
    """How busy they were."""
    share = percent(mean_of_host(moments, lambda host: host.cpu_share))
    return Evidence(shows=say("CPU {share} busy across all cores", share=share), command="mpstat 1")
