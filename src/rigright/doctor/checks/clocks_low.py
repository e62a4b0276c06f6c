"""Whether a card that works has left its resting state.

A card at work runs in state P0 to P2 and near its highest clock; one that stays in P5 or P8, or below half
of its clock with no reason told, is stuck: a known fault after a broken suspend, a power cable that reports
too little, or a driver that lost its firmware. Judged only while it works.

Fault below a third of its clock, warning below a half; likely. Source: NVIDIA's performance states; the
shares are our own.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.doctor.gpus import answering, details, is_busy, label, reboot, reset
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen, step
from rigright.facts.slowdowns import slowdowns

TITLE = say("a card that works runs at its clock")
LOW_SHARE, WORST_SHARE = 0.5, 1 / 3
RESTING_STATE = 5


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card; a reason that the driver tells has a check of its own."""
    at_work: dict[str | None, float] = {}  # the highest clock of cards alike that work
    for device, _ in answering(case):
        if is_busy(device) and device.clocks.sm_hz is not None:
            at_work[device.name] = max(device.clocks.sm_hz, at_work.get(device.name, 0.0))
    for device, _ in answering(case):
        now, most = device.clocks.sm_hz, device.clocks.sm_max_hz or at_work.get(device.name)
        if now is None or not most:
            continue
        if not is_busy(device):
            yield NotSeen(
                why=say("it rests: clocks are judged under load"),
                idle=True,
                see=details(device, "CLOCK"),
                about=label(device),
            )
            continue
        told = [
            word
            for word in device.slowed_by or ()
            if word in slowdowns() and slowdowns()[word].judged != "none"
        ]
        rests = device.pstate is not None and device.pstate >= RESTING_STATE
        if not told and (rests or now < LOW_SHARE * most):
            share = now / most
            state = "?" if device.pstate is None else f"P{device.pstate}"
            yield Finding(
                severity="fault" if share < WORST_SHARE else "warning",
                title=say("the card works and is stuck at low clocks"),
                evidence=seen(
                    say(
                        "state {state}, {share} of its highest clock, and no reason told",
                        state=state,
                        share=f"{share:.0%}",
                    ),
                    details(device, "PERFORMANCE,CLOCK"),
                ),
                why=say("it computes at that share of its speed, and every card that works with it waits"),
                fix=(
                    step(say("check that every power cable of the card sits tight")),
                    reset(device),
                    reboot(),
                ),
                confidence="likely",
                about=label(device),
            )
        else:
            yield Fine(
                says=say(
                    "{clock} MHz, {share} of its highest",
                    clock=f"{now / MEGA:.0f}",
                    share=f"{now / most:.0%}",
                ),
                about=label(device),
            )
