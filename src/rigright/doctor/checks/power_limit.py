"""Whether a card may draw what it was made for.

A limit below the card's default was set by somebody, or by a server that saves power. It costs little at
first (15 % less power is about 5 % less speed) and much further down. On desktops people lower it on
purpose: note. On datacentre cards, where plans and benchmarks take the default: warning, from 2 % below on.

Source: the card's own default limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_watts
from rigright.base.words import say
from rigright.doctor.gpus import answering, details, label
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, as_root, seen, step
from rigright.facts.chips import Chip
from rigright.machine.device import Device

TITLE = say("a card may draw what it was made for")
LEAST_SHARE = 0.98


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card with a limit."""
    for device, chip in answering(case):
        limit, default = device.power.limit_w, device.power.limit_default_w
        if device.unified_memory:
            continue
        if limit is None or not default:
            if device.vendor == "nvidia":
                yield NotSeen(
                    why=say("the driver does not tell it"), see=details(device, "POWER"), about=label(device)
                )
        elif limit < LEAST_SHARE * default:
            yield _low(device, chip, watts=(limit, default))
        else:
            yield Fine(
                says=say("{limit}, its default", limit=show_watts(limit))
                if limit <= default
                else say(
                    "{limit}, above its default of {default}",
                    limit=show_watts(limit),
                    default=show_watts(default),
                ),
                about=label(device),
            )


def _low(device: Device, chip: Chip | None, *, watts: tuple[float, float]) -> Finding:
    limit, default = watts
    served = chip is not None and chip.segment == "datacenter"
    command = f"nvidia-smi -i {device.index} -pl {default:.0f}" if device.vendor == "nvidia" else None
    return Finding(
        severity="warning" if served else "note",
        title=say("the power limit is below the card's default"),
        evidence=seen(
            say("{limit} of {default}", limit=show_watts(limit), default=show_watts(default)),
            details(device, "POWER"),
        ),
        why=say(
            "under load the card is held to it: expect {share} of its power, and less speed than plans say",
            share=f"{limit / default:.0%}",
        ),
        fix=(
            as_root(say("if nobody meant it, set it back"), command),
            step(
                say("if it was meant, measure the speed at this limit and plan with that"),
                "rigright bench gemm",
            ),
        ),
        about=label(device),
    )
