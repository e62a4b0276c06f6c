"""What the driver itself asks for: reset, reboot, drain.

The driver keeps a recovery action for each card until it is done. It stays when counters are cleared, so it
shows a fault of the past that a single look at counters and logs would miss: after an uncontained memory
error (XID 95) or a failure of the firmware (XID 119) a card may go on working, badly, with every counter at
zero.

Any action but "none" is a fault. Sources: NVML's recovery actions (nvidia-ml-py 13.615), XID 154 of
NVIDIA's catalog; drivers before 550 do not tell it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import DRAIN, answering, label, query, reboot, reset
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Step, Verdict, seen, step
from rigright.machine.device import Device

TITLE = say("recovery that the driver asks for")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that tells it."""
    for device, _ in answering(case, vendor="nvidia"):
        action = (device.recovery or "").lower()
        if not action:
            yield NotSeen(
                why=say("the driver does not tell it; drivers from 550 on do for most cards"),
                see=f"nvidia-smi -q -i {device.index} | grep -i recovery",
                about=label(device),
            )
        elif action == "none":
            yield Fine(says=say("nothing is asked for"), about=label(device))
        else:
            command = query(device, "gpu_recovery_action")
            yield Finding(
                severity="fault",
                title=say("the driver asks for a recovery: {action}", action=_told(action)),
                evidence=seen(say("recovery action: {action}", action=action), command),
                why=say(
                    "an earlier fault has left the card in a state the driver does not trust; "
                    "results may be wrong or jobs fail until this is done, though every counter reads zero"
                ),
                fix=_fix(device, action),
                about=label(device),
            )


def _told(action: str) -> Sentence:
    if "reboot" in action:
        return say("reboot")
    if "p2p" in action:
        return say("drain what copies between cards")
    return say("drain, then reset") if "drain" in action else say("reset")


def _fix(device: Device, action: str) -> tuple[Step, ...]:
    if "reboot" in action:
        return (DRAIN, reboot())
    if "imex" in action:
        return (DRAIN, step(say("restart the IMEX service of the NVLink domain"), disturbs=True))
    return (DRAIN, reset(device), reboot()) if "bus" in action else (DRAIN, reset(device))
