"""Whether somebody holds a card to clocks below its own (application clocks, locked clocks).

Held clocks make benchmarks repeatable and cards slow; they are easily forgotten. Application clocks below
the card's default, or the driver saying that set clocks hold it: warning on datacentre cards, note on
others. The default itself may lie below the highest clock (A100: 1275 of 1410 MHz), and that is no finding.

Source: NVML's application clocks and their default.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import MEGA
from rigright.base.words import say
from rigright.doctor.gpus import answering, details, is_busy, label
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, as_root
from rigright.facts.chips import Chip
from rigright.machine.device import Device

TITLE = say("nobody holds a card to lower clocks")
LEAST_SHARE = 0.98


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that tells its clocks."""
    for device, chip in answering(case, vendor="nvidia"):
        app, default = device.clocks.sm_app_hz, device.clocks.sm_app_default_hz
        low = app is not None and default is not None and app < LEAST_SHARE * default
        locked = "app_clocks" in (device.slowed_by or ()) and is_busy(device) is True and app != default
        if low or locked:
            yield _held(device, chip)
        elif app is not None or device.slowed_by is not None:
            yield Fine(says=say("nobody does"), about=label(device))


def _held(device: Device, chip: Chip | None) -> Finding:
    clocks = device.clocks
    served = chip is not None and chip.segment == "datacenter"
    told = [
        say("{name}: {clock} MHz", name=name, clock=f"{hertz / MEGA:.0f}")
        for name, hertz in (
            (say("held to"), clocks.sm_app_hz),
            (say("its default"), clocks.sm_app_default_hz),
            (say("now"), clocks.sm_hz),
            (say("the most"), clocks.sm_max_hz),
        )
        if hertz is not None
    ]
    return Finding(
        severity="warning" if served else "note",
        title=say("the card is held to clocks below its own"),
        evidence=tuple(Evidence(shows=one, command=details(device, "CLOCK")) for one in told),
        why=say("it is slower than plans and other cards by that share, at any temperature"),
        fix=(
            as_root(say("let application clocks go"), f"nvidia-smi -i {device.index} -rac"),
            as_root(say("let locked clocks go"), f"nvidia-smi -i {device.index} -rgc"),
        ),
        verify=details(device, "CLOCK"),
        about=label(device),
    )
