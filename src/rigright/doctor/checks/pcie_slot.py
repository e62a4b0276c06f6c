"""Slots with fewer lanes than the card in them.

A card of sixteen lanes in a slot of eight or four works, and all its compute is there; its copies are
slower. Two cards in a desktop board commonly share sixteen lanes (8 + 8), which is how the board is meant:
worth knowing. For inference on one card it costs only loading time; training and tensor parallelism over
several cards without direct links exchange through these lanes at every step.

Note at eight lanes and more (or any width for a single card); warning below eight where several cards work
together. Source: PCI Express base specification; the boards' manuals.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.doctor.wires import function_of, has_slot, is_real, wires_up
from rigright.machine.device import Device
from rigright.machine.host import PciDevice

TITLE = say("slots as wide as their cards")
NARROW = 8


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card whose slot is seen."""
    if not is_real(case):
        return
    together = len(answering(case)) > 1
    for device, chip in answering(case):
        one = function_of(case, device)
        wires = wires_up(case, one) if one is not None and has_slot(device, chip) else ()
        above = [wire.above for wire in wires if wire.above is not None and wire.above.lanes_max is not None]
        card = (chip.pcie_lanes if chip else None) or (one.lanes_max if one is not None else None)
        if not above or card is None:
            continue
        port = min(above, key=lambda bridge: bridge.lanes_max or 0)
        lanes = port.lanes_max or 0
        if lanes < card:
            slots = case.machine.slots or ()
            free = [slot for slot in slots if slot.in_use is False and (slot.lanes or 0) > lanes]
            yield _narrow(
                device,
                port=port,
                card=card,
                wider=max(free, key=lambda slot: slot.lanes or 0).name if free else None,
                hurts=together,
            )
        else:
            yield Fine(says=say("a slot of {lanes} lanes", lanes=lanes), about=label(device))


def _narrow(device: Device, *, port: PciDevice, card: int, wider: str | None, hurts: bool) -> Finding:
    lanes = port.lanes_max or 0
    severity: Severity = "warning" if hurts and lanes < NARROW and not device.links else "note"
    command = f"sudo lspci -vv -s {shlex.quote(port.address)} | grep -E 'LnkCap:|LnkSta:'"
    move = say("move it to {slot}, which is free and wider", slot=wider)
    look = say("the board's manual tells which slots are wired with more lanes, and what shares them")
    return Finding(
        severity=severity,
        title=say("a card of {card} lanes in a slot of {lanes}", card=card, lanes=lanes),
        evidence=seen(
            say("the port {port} above it has {lanes} lanes", port=port.address, lanes=lanes), command
        ),
        why=say(
            "work that stays on the card loses nothing; loading, and exchange between cards, go "
            "at {share} of the rate",
            share=f"{lanes / card:.0%}",
        ),
        fix=(step(move if wider else look, disturbs=wider is not None),),
        about=label(device),
    )
