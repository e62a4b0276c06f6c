"""How a card stands to the manager of the NVLink switches, and how the fabric itself stands.

Since Hopper a card on a board with switches joins the fabric when the fabric manager has set it up; CUDA
does not start on it before (error 802, "system not yet initialized"). Each state is named for what it is: a
card that has not begun to join, one that is still joining after minutes, one whose joining ended in an error,
one that has joined a fabric which is unhealthy, and one that has joined with less than its full bandwidth.
A card that stands alone, as in a virtual machine with one card, is not asked; nor are cards before Hopper,
which do not tell it. Racks (NVL72) keep the manager on their switch trays.

Completed with success: fine. Not joined, or unhealthy: fault. Less bandwidth, routes being set anew: warning.
Sources: NVML's fabric states and health masks; NVSentinel's report of a manager dead for twenty days with
healthy-looking cards.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import FABRIC_LOG, RACK_CHIPS, answering, label, reset
from rigright.doctor.record import Case, Finding, Fine, Severity, Step, Verdict, as_root, seen, step
from rigright.facts.fabrics import fabric_of
from rigright.machine.device import Device, Fabric

TITLE = say("cards have joined the NVLink fabric")
_SOUND = {"success", "healthy", "none", "n/a", "not supported", ""}
STARTING_S = 300  # the manager needs some minutes after a boot
_NO_CUDA = say("CUDA programs do not start on it (error 802), or run without NVLink")
_SLOWER = say("collectives run at the pace of the card with the least bandwidth")
_DIES = say("transfers over NVLink fail or hang, and programs on several cards die")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card on a board with switches."""
    found = answering(case, vendor="nvidia")
    for device, chip in found:
        fabric = device.fabric
        if chip is None or fabric is None or fabric_of(chip).kind != "switch":
            continue
        is_rack = fabric_of(chip).domain > RACK_CHIPS
        state = (fabric.state or "").lower().replace("_", " ")
        if state in {"", "not supported", "n/a"} or (len(found) < 2 and not is_rack):
            continue
        told = _judged(fabric, state)
        if told is None:
            yield Fine(says=say("it has"), about=label(device))
        elif not (state == "in progress" and (case.machine.system.up_s or STARTING_S) < STARTING_S):
            yield _finding(device, told, is_rack=is_rack)


def _judged(fabric: Fabric, state: str) -> tuple[Severity, Sentence, Sentence] | None:
    """What is wrong, by its name, and why it matters."""
    status, health = ((said or "").lower() for said in (fabric.status, fabric.health))
    degraded = (fabric.bandwidth or "").lower() == "degraded" or health not in _SOUND
    broken = health == "unhealthy" or fabric.route_broken is True or fabric.timed_out is True
    states: tuple[tuple[bool, Severity, Sentence, Sentence], ...] = (  # the first that holds
        (state == "in progress", "fault", say("the card is still joining the NVLink fabric"), _NO_CUDA),
        (state != "completed", "fault", say("the card has not joined the NVLink fabric"), _NO_CUDA),
        (status not in _SOUND, "fault", say("joining the NVLink fabric ended in an error"), _NO_CUDA),
        (broken, "fault", say("the card has joined the NVLink fabric, and the fabric is unhealthy"), _DIES),
        (fabric.recovering is True, "warning", say("routes of the NVLink fabric are being set anew"), _DIES),
        (
            degraded,
            "warning",
            say("the card has joined the NVLink fabric with less than its bandwidth"),
            _SLOWER,
        ),
    )
    return next((one[1:] for one in states if one[0]), None)


def _finding(device: Device, told: tuple[Severity, Sentence, Sentence], *, is_rack: bool) -> Finding:
    severity, title, why = told
    fabric = device.fabric or Fabric()
    start = as_root(
        say("start it; its version must be the driver's to the last number"),
        "systemctl enable --now nvidia-fabricmanager",
    )
    joined = (fabric.state or "").lower() == "completed"
    board: tuple[Step, ...] = (FABRIC_LOG,) if joined else (FABRIC_LOG, start)
    trays = (step(say("look at the fabric manager (NMX-C) on the switch trays of the rack")),)
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(
            say(
                "state: {state}, status: {status}, health: {health}",
                state=fabric.state or "?",
                status=fabric.status or "?",
                health=fabric.health or "?",
            ),
            f"nvidia-smi -q -i {device.index} | grep -A 12 -w Fabric",
        ),
        why=why,
        fix=(*(trays if is_rack else board), reset(device)),
        about=label(device),
    )
