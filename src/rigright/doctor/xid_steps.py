"""What to do about an XID: its action at once, then the next step, as steps of a fix."""

from __future__ import annotations

from rigright.base.words import say
from rigright.doctor.gpus import details, reboot, reset
from rigright.doctor.record import Step
from rigright.facts.xids import Xid
from rigright.machine.device import Device

_RESTART = Step(says=say("restart the program that was ended; other programs are not struck"))
_NOW = {
    "restart_app": _RESTART,
    "look": Step(says=say("look at the other XID of the same moment: it is the cause")),
    "restart_vm": Step(says=say("restart the virtual machine"), disturbs=True),
    "update": Step(says=say("update the driver and its virtual-GPU part to versions that go together")),
    "cables": Step(
        says=say("switch off, then check that every power cable of the card sits tight"), disturbs=True
    ),
    "links": Step(says=say("see which link reports errors"), command="nvidia-smi nvlink -e"),
    "recovery": Step(
        says=say("read which recovery the driver asks for"),
        command="nvidia-smi --query-gpu=index,gpu_recovery_action --format=csv",
    ),
    "support": Step(
        says=say("keep a report for the vendor's support"), command="nvidia-bug-report.sh", as_root=True
    ),
}
_THEN = {
    "app": Step(
        says=say(
            "find the bug in the program: run it alone with CUDA_LAUNCH_BLOCKING=1, or compute-sanitizer"
        )
    ),
    "support": Step(
        says=say("if it comes again, keep a report for the vendor's support"),
        command="nvidia-bug-report.sh",
        as_root=True,
    ),
    "update": Step(
        says=say(
            "if it comes again, change the driver to the newest of its branch; `rigright setup` names it"
        )
    ),
    "power": Step(
        says=say(
            "check power supply, cables, seating in the slot and temperature; if "
            "it comes again, replace the card"
        )
    ),
    "replace": Step(says=say("run the vendor's field diagnosis, and have the card replaced")),
    "cables": Step(says=say("check the cable to the screen")),
}


def steps_of(xid: Xid, device: Device | None) -> tuple[Step, ...]:
    """Steps for one card; None: a card that does not answer any more."""
    now, then = _NOW.get(xid.action), _THEN.get(xid.next)
    if xid.action == "reset":
        now = reset(device) if device else reboot()
    elif xid.action == "reboot":
        now = reboot()
    if xid.next == "rows":
        command = details(device, "ROW_REMAPPER,ECC") if device else None
        then = Step(
            says=say("see whether rows of memory wait to be replaced, or could not be"), command=command
        )
    return tuple(step for step in (now, then) if step is not None)
