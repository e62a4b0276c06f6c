"""Why a card runs slower than it could, at this moment.

The driver tells reasons: heat, the power limit, a brake that the power supply or the server pulls. Idle
cards slow down by themselves, so a card is judged while it works; on one that rests only the brakes that
need no load count.

A brake of the board (heat, power): fault. The driver's own for heat: warning. The power limit under load is
how cards are meant to run: fine; a limit that somebody lowered has a check of its own.

Table: data/slowdowns.csv. Sources: NVML's clocks event reasons; gpud, nvidia_gpu_exporter.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.doctor.gpus import answering, details, is_busy, label
from rigright.doctor.record import (
    Case,
    Evidence,
    Finding,
    Fine,
    NotSeen,
    Severity,
    Step,
    Verdict,
    as_root,
    step,
)
from rigright.facts.slowdowns import Slowdown, reasons, slowdowns
from rigright.machine.device import Device

TITLE = say("no card is held back")
_RANKS: tuple[Severity, ...] = ("fault", "warning")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that tells reasons."""
    for device, _ in answering(case):
        if device.slowed_by is None:
            continue
        known = [slowdowns()[word] for word in reasons(device.slowed_by) if word in slowdowns()]
        bad = [one for one in known if one.judged in _RANKS]
        if bad:
            yield _held(device, sorted(bad, key=lambda one: one.judged != "fault"))
        elif is_busy(device) is False:
            yield NotSeen(
                why=say("it rests: clocks are judged under load"),
                idle=True,
                see=details(device, "PERFORMANCE"),
                about=label(device),
            )
        else:
            power = any(one.word == "sw_power_cap" for one in known)
            yield Fine(
                says=say("at its power limit, as is usual under load")
                if power
                else say("nothing holds it back"),
                about=label(device),
            )


def _held(device: Device, bad: list[Slowdown]) -> Finding:
    worst, clocks = bad[0], device.clocks
    evidence = [Evidence(shows=one.meaning, command=details(device, "PERFORMANCE")) for one in bad]
    if clocks.sm_hz is not None and clocks.sm_max_hz:
        evidence.append(
            Evidence(
                shows=say(
                    "it runs at {now} of {most} MHz",
                    now=f"{clocks.sm_hz / MEGA:,.0f}",
                    most=f"{clocks.sm_max_hz / MEGA:,.0f}",
                ),
                command=details(device, "CLOCK"),
            )
        )
    rests = is_busy(device) is False
    return Finding(
        severity="fault" if worst.judged == "fault" and not rests else "warning",
        title=say("throttled: {reason}", reason=worst.meaning),
        evidence=tuple(evidence),
        why=say("it works at a fraction of its speed, and every card that works with it waits"),
        fix=_fix(bad),
        verify=details(device, "PERFORMANCE"),
        confidence="likely" if rests else "sure",
        about=label(device),
    )


def _fix(bad: list[Slowdown]) -> tuple[Step, ...]:
    words = {one.word for one in bad}
    heat = step(
        say("look at temperature, fans, dust and the air around the card"), "nvidia-smi -q -d TEMPERATURE"
    )
    power = as_root(
        say("check the power supplies, their cables, and what the management controller reports"),
        "ipmitool sdr type 'Power Supply'",
    )
    if words & {"hw_power_brake", "board_limit"}:
        return (power, step(say("look for a power cap that the server's firmware sets")))
    if words & {"hw_thermal", "sw_thermal"}:
        return (
            heat,
            step(
                say("until it is cooler, lower the power limit a little: it costs less speed than the brake")
            ),
        )
    return (heat, power)
