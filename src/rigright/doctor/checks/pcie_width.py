"""Lanes of each card's way to the processor: fewer than card and slot have.

A link that lost lanes stays so until it is trained anew; unlike the generation, the width never drops to
save power. A dirty contact, a bent riser, a card that sags, or a broken lane are the usual reasons. Copies
to the card take as much longer as lanes are gone, and so does every exchange between cards without a direct
link.

Warning where fewer lanes run than both ends have (sure), or fewer than the card has where the slot could
not be seen (likely). Every link up to the root is looked at, through switches too. Nothing is said of cards
soldered to their processor (GB10, Grace, Jetson: they report x1), nor in a virtual machine. Source: PCI
Express base specification; NVIDIA/NVSentinel issue 890 (down-training goes unnoticed);
GoogleCloudPlatform/cluster-toolkit issue 5972 (false alarms on Grace).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query
from rigright.doctor.record import Case, Confidence, Finding, Fine, NotSeen, Verdict, seen, step
from rigright.doctor.wires import Wire, function_of, slotted, wires_up
from rigright.machine.device import Device

TITLE = say("lanes between cards and processor")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card."""
    yield from (_of_card(case, device) for device in slotted(case))


def _of_card(case: Case, device: Device) -> Verdict:
    one = function_of(case, device)
    wires = wires_up(case, one) if one is not None else ()
    for wire in wires:
        if wire.below.lanes and wire.lanes_most and wire.below.lanes < wire.lanes_most:
            return _narrow(device, lanes=wire.below.lanes, most=wire.lanes_most, wire=wire)
    lanes, most = device.pcie.lanes, device.pcie.lanes_max
    if lanes is None or most is None:
        if not wires or wires[-1].below.lanes is None:
            return NotSeen(
                why=say("nobody tells the lanes of its link"), see="sudo lspci -vv", about=label(device)
            )
        lanes = most = wires[-1].below.lanes
    slot = wires[-1].lanes_most if wires else None
    if slot is not None and lanes < slot:
        return _narrow(device, lanes=lanes, most=slot, wire=None)
    if slot is None and lanes < most:
        return _unseen_slot(case, device, lanes=lanes, most=most)
    return Fine(says=say("{lanes} lanes", lanes=lanes), about=label(device))


def _unseen_slot(case: Case, device: Device, *, lanes: int, most: int) -> Verdict:
    """Fewer lanes than the card has, and nobody tells what the slot has: the other cards are asked."""
    others = [one.pcie.lanes for one, _ in answering(case) if one.name == device.name and one is not device]
    if not others:
        return _narrow(device, lanes=lanes, most=most, wire=None, confidence="maybe")
    if all(other is None or other <= lanes for other in others):
        why = say(
            "{lanes} of {most} lanes, as the others have: perhaps all its slot has", lanes=lanes, most=most
        )
        return NotSeen(why=why, see="sudo lspci -vv | grep -E 'LnkCap:|LnkSta:'", about=label(device))
    return _narrow(device, lanes=lanes, most=most, wire=None, confidence="likely")


def _narrow(
    device: Device, *, lanes: int, most: int, wire: Wire | None, confidence: Confidence = "sure"
) -> Finding:
    at = wire.below.address if wire is not None else device.pci
    command = f"sudo lspci -vv -s {shlex.quote(at)} | grep -E 'LnkCap:|LnkSta:'" if at else None
    shows = say("{at} runs on {lanes} of {most} lanes", at=at or "?", lanes=lanes, most=most)
    wired = step(say("a slot wired with fewer lanes looks the same: the board's manual tells it"))
    return Finding(
        severity="note" if confidence == "maybe" else "warning",
        title=say("the link runs on {lanes} of {most} lanes", lanes=lanes, most=most),
        evidence=seen(shows, query(device, "pcie.link.width.current", "pcie.link.width.max") or command),
        why=say(
            "copies to and from this card take {times} times as long, and jobs over several cards "
            "wait for it",
            times=f"{most / lanes:g}",
        ),
        fix=(
            step(
                say("switch the machine off, clean the contacts, seat the card anew, leave risers away"),
                disturbs=True,
            ),
            step(
                say(
                    "try another slot: if the fault stays with the card, have it replaced; else the slot "
                    "is broken"
                )
            ),
            *((wired,) if confidence != "sure" else ()),
        ),
        verify=command,
        confidence=confidence,
        about=label(device),
    )
