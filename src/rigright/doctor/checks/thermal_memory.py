"""The temperature of a card's memory, which has a sensor of its own.

Memory may be near its limit while the chip is cool: GDDR6X is specified to 110 °C, HBM to about 95. The
card's own limit counts where it tells one; else 105 °C for GDDR and 95 °C for HBM. Within 3 degrees:
warning; at it: fault.

Sources: the card's threshold; Micron's data sheet of GDDR6X; NVIDIA's thresholds of A100 (95 °C).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import AIR, answering, details, label
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.device import Device

TITLE = say("temperature of a card's memory")
NEAR_C = 3
_USUAL_C = {"HBM": 95.0, "GDDR": 105.0}


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that has the sensor."""
    for device, chip in answering(case):
        if device.thermal.mem_most_c is not None and device.thermal.mem_most_c > 0:
            limit: float | None = device.thermal.mem_most_c
        else:
            kind = "" if chip is None else chip.mem_type
            limit = next((limit for start, limit in _USUAL_C.items() if kind.startswith(start)), None)
        if device.thermal.mem_c is None or limit is None:
            continue
        if device.thermal.mem_c > limit - NEAR_C:
            yield _hot(device, mem_c=device.thermal.mem_c, limit_c=limit)
        else:
            yield Fine(
                says=say(
                    "{temperature} °C, its limit is {limit}",
                    temperature=f"{device.thermal.mem_c:.0f}",
                    limit=f"{limit:.0f} °C",
                ),
                about=label(device),
            )


def _hot(device: Device, *, mem_c: float, limit_c: float) -> Finding:
    return Finding(
        severity="fault" if mem_c >= limit_c else "warning",
        title=say("the card's memory is at its limit of temperature"),
        evidence=seen(
            say(
                "{temperature} °C, its limit is {limit}",
                temperature=f"{mem_c:.0f}",
                limit=f"{limit_c:.0f} °C",
            ),
            details(device, "TEMPERATURE"),
        ),
        why=say("hot memory slows the card and makes errors; the chip's own temperature does not show it"),
        fix=(
            AIR,
            step(say("on an older card, have the thermal pads of its memory renewed")),
        ),
        about=label(device),
    )
