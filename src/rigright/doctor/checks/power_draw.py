"""Whether the power a card draws can be true.

A card at work that draws nothing has a broken sensor, or does not work though it says so; one that draws
far above its limit for more than a moment has one too. Its energy and cost figures are wrong then, and its
power limit does not protect anything. Below 1 W at work, or 30 % above its limit: warning, likely.

Source: physics; peaks of milliseconds above the limit are normal and averaged out by the driver.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_watts
from rigright.base.words import say
from rigright.doctor.gpus import answering, details, label
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.device import Device

TITLE = say("power readings can be true")
LEAST_W, MOST_SHARE = 1.0, 1.3
WORKS_SHARE = 0.5


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that tells what it draws."""
    for device, _ in answering(case):
        draw, limit = device.power.draw_w, device.power.limit_w
        if draw is None:
            continue
        works = (device.busy_share or 0.0) >= WORKS_SHARE
        if (works and draw < LEAST_W) or (limit and draw > MOST_SHARE * limit):
            yield _odd(device, draw_w=draw)
        else:
            yield Fine(says=say("{text}", text=show_watts(draw)), about=label(device))


def _odd(device: Device, *, draw_w: float) -> Finding:
    limit = device.power.limit_w
    return Finding(
        severity="warning",
        title=say("what the card says it draws cannot be true"),
        evidence=seen(
            say(
                "{power} at a limit of {limit}",
                power=show_watts(draw_w),
                limit="?" if limit is None else show_watts(limit),
            ),
            details(device, "POWER"),
        ),
        why=say("its limit does not protect the power supply, and energy and cost are counted wrongly"),
        fix=(
            step(say("compare with what the power supply or the wall says")),
            step(say("update the driver; if it stays so, have the card looked at")),
        ),
        confidence="likely",
        about=label(device),
    )
