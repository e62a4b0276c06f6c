"""The processor: all its cores are busy."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.means import mean_of_host, percent
from rigright.doctor.binding.record import WAITING, Moment
from rigright.doctor.record import Evidence, step

TITLE = say("CPU, all cores")
SIDE = WAITING
REMEDIES = (
    step(say("prepare data once and store it ready; decode and augment on the card")),
    step(say("find the number of workers that helps most"), "rigright bench dataloader preprocess"),
    step(say("see that nothing else runs beside it"), "top"),
)


def weigh(moment: Moment) -> float | None:
    """Of all cores together."""
    return moment.host.cpu_share


def tell(moments: Sequence[Moment]) -> Evidence:
    """How busy they were."""
    share = percent(mean_of_host(moments, lambda host: host.cpu_share))
    return Evidence(shows=say("all cores together were busy {share}", share=share), command="mpstat 1")
