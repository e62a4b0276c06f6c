"""Temperatures of processor, board and the air that comes in, against their own limits.

Sensors bring their own limits: the processor's from the maker, the air's from the board's. Air that comes
in too warm leaves the cards no margin, whatever their fans do.

Fault: beyond a critical limit as the management controller says. Warning: at or beyond the upper limit;
note: air that comes in above 35 C. Source: each sensor's limits; ASHRAE class A2 (10 to 35 C at the inlet).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.machine.host import Sensor

TITLE = say("temperatures of processor, board and air")
AIR_C = 35.0
_AIR = ("inlet", "intake", "ambient")
_CARDS = ("amdgpu", "nouveau", "gpu")


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each that is hot, else one for all."""
    known = [
        one
        for one in case.machine.sensors or ()
        if one.kind == "temperature" and one.value is not None and not one.name.lower().startswith(_CARDS)
    ]
    hot = [(one, severity) for one in known if (severity := _judged(one)) is not None]
    for one, severity in hot:
        yield _finding(one, severity)
    if known and not hot:
        yield Fine(says=say("within their limits; sensors: {count}", count=len(known)))


def _judged(sensor: Sensor) -> Severity | None:
    value = sensor.value or 0.0
    if sensor.status in {"critical", "beyond repair"}:
        return "fault"
    if (sensor.high is not None and value >= sensor.high) or sensor.status == "alarm":
        return "warning"
    is_air = any(word in sensor.name.lower() for word in _AIR)
    return "note" if is_air and value > AIR_C else None


def _finding(sensor: Sensor, severity: Severity) -> Finding:
    command = "sudo ipmitool sdr type Temperature" if sensor.source == "ipmi" else "sensors"
    limit = f"{sensor.high:g}" if sensor.high is not None else f"{AIR_C:g}"
    title = say("{name} is {heat} C", name=sensor.name, heat=f"{sensor.value:.0f}")
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(say("its limit is {limit} C", limit=limit), command),
        why=say("hot parts slow themselves down, err and age; warm air leaves the cards no margin"),
        fix=(
            step(
                say(
                    "check fans, filters and the room's cooling; close empty bays so that air passes the "
                    "cards"
                )
            ),
        ),
        about=sensor.name,
    )
