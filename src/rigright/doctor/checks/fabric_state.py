"""How a card stands to the manager of the NVLink switches.

Since Hopper a card on a board with switches joins the fabric when the fabric manager has set it up; CUDA
does not start on it before (error 802, "system not yet initialized"). Completed with success: fine. In
progress for longer than a few minutes, not started, or an error: fault. A card that stands alone, as in a
virtual machine with one card, is not asked; nor are cards before Hopper, which do not tell it.

Sources: NVML's fabric states; NVSentinel's report of a manager dead for twenty days with healthy-looking
cards.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import FABRIC_LOG, answering, label, reset
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen
from rigright.facts.fabrics import fabric_of

TITLE = say("cards have joined the NVLink fabric")
_SOUND = {"success", "healthy", "none", "n/a", "not supported", ""}
STARTING_S = 300  # the manager needs some minutes after a boot


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card on a board with switches."""
    found = answering(case, vendor="nvidia")
    for device, chip in found:
        fabric = device.fabric
        if chip is None or fabric is None or fabric_of(chip).kind != "switch" or len(found) < 2:
            continue
        state = (fabric.state or "").lower().replace("_", " ")
        if state in {"", "not supported", "n/a"}:
            continue
        sound = all((said or "").lower() in _SOUND for said in (fabric.status, fabric.health))
        if state == "completed" and sound:
            yield Fine(says=say("it has"), about=label(device))
        elif not (state == "in progress" and (case.machine.system.up_s or STARTING_S) < STARTING_S):
            command = f"nvidia-smi -q -i {device.index} | grep -A 12 -w Fabric"
            yield Finding(
                severity="fault",
                title=say("the card has not joined the NVLink fabric"),
                evidence=seen(
                    say(
                        "state: {state}, status: {status}, health: {health}",
                        state=fabric.state or "?",
                        status=fabric.status or "?",
                        health=fabric.health or "?",
                    ),
                    command,
                ),
                why=say("CUDA programs do not start on it (error 802), or run without NVLink"),
                fix=(
                    FABRIC_LOG,
                    as_root(
                        say("start it; its version must be the driver's to the last number"),
                        "systemctl enable --now nvidia-fabricmanager",
                    ),
                    reset(device),
                ),
                about=label(device),
            )
