"""How far a card is from the temperature at which it slows down.

Every model has limits of its own (slowing down / switching off: A100 SXM 89/92 °C, T4 93/96, RTX 3090
95/98), and they are what counts; one limit for all cards gives false alarms. At the limit: fault; within 5
degrees of it, or above the highest temperature the card should work at: warning.

Sources: the card's own thresholds; margins of 0 and below that some drivers report are known to be
unreliable (gpud), so temperature and limit are compared where both are told.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import AIR, answering, details, label
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Step, Verdict, as_root, seen, step
from rigright.machine.device import Device

TITLE = say("temperature below the card's own limit")
NEAR_C = 5


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card."""
    for device, _ in answering(case):
        thermal = device.thermal
        if thermal.gpu_c is None:
            yield NotSeen(
                why=say("the driver does not tell it"),
                see=details(device, "TEMPERATURE"),
                about=label(device),
            )
            continue
        if thermal.slowdown_c is not None and thermal.gpu_c is not None and thermal.slowdown_c > 0:
            margin: float | None = thermal.slowdown_c - thermal.gpu_c
        else:
            margin = thermal.margin_c if thermal.margin_c is not None and thermal.margin_c > 0 else None
        above = thermal.gpu_most_c is not None and thermal.gpu_c > thermal.gpu_most_c
        if margin is None and thermal.gpu_most_c is None:
            yield NotSeen(
                why=say(
                    "{temperature} °C; the card does not tell its limit", temperature=f"{thermal.gpu_c:.0f}"
                ),
                see=details(device, "TEMPERATURE"),
                about=label(device),
            )
        elif above or (margin is not None and margin <= NEAR_C):
            yield _hot(device, margin=margin)
        elif margin is None:
            yield Fine(
                says=say("{temperature} °C, below its limit", temperature=f"{thermal.gpu_c:.0f}"),
                about=label(device),
            )
        else:
            yield Fine(
                says=say(
                    "{temperature} °C, {margin} below its limit",
                    temperature=f"{thermal.gpu_c:.0f}",
                    margin=f"{margin:.0f}",
                ),
                about=label(device),
            )


def _hot(device: Device, *, margin: float | None) -> Finding:
    thermal = device.thermal
    at_limit = margin is not None and margin <= 0
    limit = thermal.slowdown_c or thermal.gpu_most_c
    return Finding(
        severity="fault" if at_limit else "warning",
        title=say("the card has reached the temperature at which it slows down")
        if at_limit
        else say("the card is close to the temperature at which it slows down"),
        evidence=seen(
            say(
                "{temperature} °C, its limit is {limit}",
                temperature=f"{thermal.gpu_c:.0f}",
                limit="?" if limit is None else f"{limit:.0f} °C",
            ),
            details(device, "TEMPERATURE"),
        ),
        why=say(
            "a card at its limit halves its clock, and a few degrees more switch it off in the midst of a run"
        ),
        fix=(
            AIR,
            step(
                say("compare with the other cards: a single hot one has a problem of its own"),
                "nvidia-smi --query-gpu=index,temperature.gpu,fan.speed,power.draw --format=csv",
            ),
            *_cooler(device),
        ),
        about=label(device),
    )


def _cooler(device: Device) -> tuple[Step, ...]:
    default, least = device.power.limit_default_w, device.power.limit_min_w
    if device.vendor != "nvidia" or default is None:
        return ()
    lower = max(default * 0.85, least or 0.0)
    return (
        as_root(
            say("until then, let it draw 15 % less: that costs about 5 % of speed"),
            f"nvidia-smi -i {device.index} -pl {lower:.0f}",
        ),
    )
