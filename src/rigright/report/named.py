"""What a machine is called on a page."""

from __future__ import annotations

from collections import Counter

from rigright.base.words import say
from rigright.machine.record import Machine
from rigright.report.page import Shown


def machine_name(machine: Machine) -> Shown:
    """The machine in a few words: its name and its accelerators."""
    kinds = Counter(device.name or device.vendor for device in machine.devices)
    cards = " + ".join(f"{count}x {name}" for name, count in kinds.items())
    host = machine.system.host or (say("this machine") if machine.origin == "live" else machine.origin)
    if not cards:
        return say("{host}, no accelerator seen", host=host)
    return say("{host}: {cards}", host=host, cards=cards)
