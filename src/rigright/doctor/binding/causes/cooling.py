"""Cooling: the card lowers its clocks because it is too hot."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.means import mean, mean_of, percent, slowed_share
from rigright.doctor.binding.record import WORKING, Moment
from rigright.doctor.record import Evidence, step
from rigright.facts.slowdowns import words_of

TITLE = say("cooling")
SIDE = WORKING
REMEDIES = (
    step(say("clean dust and filters; check fans, airflow and inlet temperature")),
    step(say("leave a free slot between GPUs that blow into each other")),
    step(
        say("a slightly lower power limit costs little speed and removes much heat"), "nvidia-smi -q -d POWER"
    ),
)
_HEAT = words_of("cooling")
_SURE = 3.0  # it comes before a power cap that stands beside it


def weigh(moment: Moment) -> float | None:
    """By the driver's own word."""
    share = slowed_share(moment, _HEAT)
    return None if share is None else share * _SURE


def tell(moments: Sequence[Moment]) -> Evidence:
    """How hot it was."""
    heat = mean_of(moments, lambda one: one.gpu_c)
    held = percent(mean(slowed_share(moment, _HEAT) for moment in moments))
    at = "?" if heat is None else f"{heat:.0f}"
    return Evidence(
        shows=say("thermally throttled {held} of the time, at {at} °C", held=held, at=at),
        command="nvidia-smi -q -d PERFORMANCE,TEMPERATURE",
    )
