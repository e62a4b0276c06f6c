"""How long a card was held back since the driver loaded.

A look at one moment misses a card that overheats once an hour. Newer drivers count how long each reason
held. The board's own brakes for 10 seconds or more: warning; the driver's brake for heat for 10 minutes or
more: note. The power limit is left out: cards are meant to run at it.

Source: NVML's counters of clocks event reasons (drivers from 565 on); the limits are our own.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_seconds
from rigright.base.words import say
from rigright.doctor.gpus import answering, details, label
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, step
from rigright.facts.slowdowns import slowdowns
from rigright.machine.device import Device

TITLE = say("no card was held back before")
_MOST_S = {"hw_slowdown": 10.0, "hw_thermal": 10.0, "hw_power_brake": 10.0, "sw_thermal": 600.0}


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that counts."""
    for device, _ in answering(case):
        if device.slowed_s is None or _MOST_S.keys().isdisjoint(word for word, _ in device.slowed_s):
            continue  # an older driver counts the power limit alone
        long = [
            (word, held_s) for word, held_s in device.slowed_s if held_s >= _MOST_S.get(word, float("inf"))
        ]
        if long:
            yield _held(device, long)
        else:
            yield Fine(says=say("none of its brakes was pulled for long"), about=label(device))


def _held(device: Device, long: list[tuple[str, float]]) -> Finding:
    hard = any(word.startswith("hw_") for word, _ in long)
    return Finding(
        severity="warning" if hard else "note",
        title=say("the card was held back by its own brakes")
        if hard
        else say("the card was slowed for heat"),
        evidence=tuple(
            Evidence(
                shows=say(
                    "{time} since the driver loaded: {reason}",
                    time=show_seconds(held_s),
                    reason=slowdowns()[word].meaning,
                ),
                command=details(device, "PERFORMANCE"),
            )
            for word, held_s in long
        ),
        why=say("long runs lose that time again and again, though the card looks healthy now"),
        fix=(
            step(
                say("look at temperature, fans, dust and the air around the card"),
                details(device, "TEMPERATURE"),
            ),
            step(say("watch it under load"), "rigright watch"),
        ),
        verify=details(device, "PERFORMANCE"),
        about=label(device),
    )
