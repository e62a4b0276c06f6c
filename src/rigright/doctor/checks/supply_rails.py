"""Voltages of the board's rails.

The ATX rule allows 5 % around 12 V, 5 V and 3.3 V. A rail below it under load tells of a supply that is too
small or worn, or of bad plugs; cards then crash under load with odd errors (XID 79). Quick ripple (guide 2:
50 mV) is not seen by these sensors, which are read once in a while.

Fault: more than 10 % off, or beyond the board's critical limit. Warning: more than 5 % off, or beyond its
limit. Only readings a rail can have (within 30 %) are judged: many desktop boards name rails wrongly.
Source: Intel ATX12V design guide, table of DC output regulation; the board's own limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.machine.host import Sensor

TITLE = say("voltages of the rails")
OFF, FAR, ODD = 0.05, 0.10, 0.30
_RAIL = re.compile(r"(?i)(?:^|[^0-9.])\+?(12|5|3\.3)\s?v(?![0-9])")
_CARDS_OWN = ("amdgpu", "nouveau", "nvme")


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each rail that is off, else one for all."""
    volts = [one for one in case.machine.sensors or () if one.kind == "volt" and one.value]
    judged = [(one, _judged(one)) for one in volts if not one.name.startswith(_CARDS_OWN)]
    for one, severity in judged:
        if severity is not None:
            yield _finding(one, severity)
    known = [one for one, _ in judged if _nominal(one) is not None or one.low is not None]
    if known and not any(severity for _, severity in judged):
        yield Fine(says=say("within their limits; rails: {count}", count=len(known)))


def _nominal(sensor: Sensor) -> float | None:
    """What the rail should be, by its name, where the reading can be that rail's."""
    match = _RAIL.search(sensor.name)
    nominal = float(match.group(1)) if match else None
    value = sensor.value or 0.0
    return nominal if nominal is not None and abs(value - nominal) <= ODD * nominal else None


def _judged(sensor: Sensor) -> Severity | None:
    nominal, value = _nominal(sensor), sensor.value or 0.0
    if sensor.status == "critical" or (nominal is not None and abs(value - nominal) > FAR * nominal):
        return "fault"
    beyond = sensor.source == "ipmi" and (
        (sensor.low is not None and value < sensor.low) or (sensor.high is not None and value > sensor.high)
    )
    return "warning" if beyond or (nominal is not None and abs(value - nominal) > OFF * nominal) else None


def _finding(sensor: Sensor, severity: Severity) -> Finding:
    command = "sudo ipmitool sdr type Voltage" if sensor.source == "ipmi" else "sensors"
    title = say("the rail {name} is at {value} V", name=sensor.name, value=f"{sensor.value:.2f}")
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(title, command),
        why=say("cards that get too little voltage crash under load, and fall off the bus"),
        fix=(
            step(say("measure it at the plug under load with a meter: boards' sensors err")),
            step(
                say(
                    "seat the power plugs anew, spread the cards over several cables; then replace the supply"
                ),
                disturbs=True,
            ),
        ),
        confidence="sure" if sensor.source == "ipmi" else "maybe",
        about=sensor.name,
    )
