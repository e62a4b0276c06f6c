"""The board's brake: power supply, server or the board's own heat take half of the clocks, or more."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.doctor.binding.means import mean, mean_of, percent, slowed_share
from rigright.doctor.binding.record import WORKING, Moment
from rigright.doctor.record import Evidence, as_root, step
from rigright.facts.slowdowns import words_of

TITLE = say("hardware slowdown")
SIDE = WORKING
REMEDIES = (
    as_root(
        say("check the power supplies, their cables and the BMC event log"),
        "ipmitool sdr type 'Power Supply'",
    ),
    step(say("check for a power cap set by the BMC or the rack")),
    step(say("see which GPUs are affected"), "nvidia-smi -q -d PERFORMANCE,CLOCK"),
)
_BRAKES = words_of("brake")
_SURE = 2.5  # a card that says why it is slow is believed first


def weigh(moment: Moment) -> float | None:
    """By the driver's own word."""
    share = slowed_share(moment, _BRAKES)
    return None if share is None else share * _SURE


def tell(moments: Sequence[Moment]) -> Evidence:
    """For how much of the time, at which clocks."""
    held = percent(mean(slowed_share(moment, _BRAKES) for moment in moments))
    command = "nvidia-smi -q -d PERFORMANCE,CLOCK"
    clock = mean_of(moments, lambda one: one.sm_hz)
    if clock is None:
        return Evidence(shows=say("hardware slowdown active {held} of the time", held=held), command=command)
    shows = say(
        "hardware slowdown active {held} of the time, {clock} MHz on average",
        held=held, clock=f"{clock / MEGA:.0f}",
    )  # fmt: skip
    return Evidence(shows=shows, command=command)
