"""What to do about an XID: its action at once, then the next step, as steps of a fix."""

from __future__ import annotations

from rigright.base.words import say
from rigright.doctor.gpus import DRAIN, REPLACE, details, device_at, reboot, reset_at
from rigright.doctor.happened import done_by_boot, is_before_boot
from rigright.doctor.record import Case, Step, as_root, step
from rigright.facts.xids import Xid
from rigright.machine.system import Event

_RESTART = step(say("restart the program that was ended; other programs are not struck"))
_LINKS = "nvidia-smi nvlink -e"
_LOOK_AT_LINKS = step(say("see which link reports errors"), _LINKS)
_NOW = {
    "restart_app": _RESTART,
    "look": step(say("look at the other XID of the same moment: it is the cause")),
    "restart_vm": step(say("restart the virtual machine"), disturbs=True),
    "update": step(say("update the driver and its virtual-GPU part to versions that go together")),
    "cables": step(
        say("switch off, then check that every power cable of the card sits tight"), disturbs=True
    ),
    "watch": step(say("look whether it goes on: such errors were mended by the link itself"), _LINKS),
    "links": _LOOK_AT_LINKS,
    "recovery": step(
        say("read which recovery the driver asks for"),
        "nvidia-smi --query-gpu=index,gpu_recovery_action --format=csv",
    ),
    "support": as_root(say("keep a report for the vendor's support"), "nvidia-bug-report.sh"),
}
_AGAIN = step(say("it came again after the machine was started anew: another start does not mend it"))
_THEN = {
    "app": step(
        say("find the bug in the program: run it alone with CUDA_LAUNCH_BLOCKING=1, or compute-sanitizer")
    ),
    "support": as_root(
        say("if it comes again, keep a report for the vendor's support"), "nvidia-bug-report.sh"
    ),
    "update": step(
        say("if it comes again, change the driver to the newest of its branch; `rigright setup` names it")
    ),
    "power": step(
        say(
            "check power supply, cables, seating in the slot and temperature; if "
            "it comes again, replace the card"
        )
    ),
    "replace": REPLACE,
    "cables": step(say("check the cable to the screen")),
    "links": _LOOK_AT_LINKS,
}


def steps_of(xid: Xid, case: Case, *, same: list[Event], action: str | None = None) -> tuple[Step, ...]:
    """What to do about the events of one code and card; `action`: another than the catalog's."""
    action = action or xid.action
    place = same[-1].pci
    device = device_at(case, place)
    now: tuple[Step | None, ...] = (_NOW.get(action),)
    then = _THEN.get(xid.next)
    anew = reboot() if action == "reboot" else reset_at(case, place)
    if action in {"reset", "reboot"}:
        now = (anew,)
    elif action == "drain":
        now = (DRAIN, anew)
    if xid.next == "rows":
        command = details(device, "ROW_REMAPPER,ECC") if device else None
        then = step(say("see whether rows of memory wait to be replaced, or could not be"), command)
    steps = tuple(step for step in (*now, then) if step is not None)
    past = [is_before_boot(case, event) for event in same]
    if xid.pages(action) and any(past) and not all(past):
        # a start of the machine did not mend it: what comes after goes before another one
        return (_AGAIN, *(step for step in (then, *now) if step is not None))
    return done_by_boot(case, same, fix=steps)
