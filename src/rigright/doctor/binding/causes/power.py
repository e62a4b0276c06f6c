"""Power: the card lowers its clocks to stay within its limit."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.words import say
from rigright.doctor.binding.means import mean, mean_of, percent, slowed_share
from rigright.doctor.binding.record import WORKING, Moment
from rigright.doctor.record import Evidence, step
from rigright.facts.slowdowns import words_of

TITLE = say("power cap")
SIDE = WORKING
REMEDIES = (step(say("raise the power limit to the default, if it is lower"), "nvidia-smi -q -d POWER"),)
_CAP = words_of("power")
_SURE = 2.0  # a card that says why it is slow is believed first


def weigh(moment: Moment) -> float | None:
    """By the driver's own word."""
    share = slowed_share(moment, _CAP)
    return None if share is None else share * _SURE


def tell(moments: Sequence[Moment]) -> Evidence:
    """How much it drew of what it may."""
    draw = mean_of(
        moments, lambda one: one.power_w / one.power_limit_w if one.power_w and one.power_limit_w else None
    )
    held = mean(slowed_share(moment, _CAP) for moment in moments)
    shows = say(
        "power-capped {held} of the time, at {draw} of the limit",
        held=percent(held),
        draw=percent(draw),
    )
    return Evidence(shows=shows, command="nvidia-smi -q -d PERFORMANCE,POWER")
