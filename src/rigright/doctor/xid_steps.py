"""What to do about an XID: its action at once, then the next step, as steps of a fix."""

from __future__ import annotations

from rigright.doctor.advice import SHARED, advised_step, subject_of
from rigright.doctor.gpus import device_at, reset_at
from rigright.doctor.happened import done_by_boot, is_before_boot
from rigright.doctor.record import CheckInput, Step
from rigright.facts.faults import Xid
from rigright.machine.device import Device
from rigright.machine.system import Event


def steps_of(xid: Xid, case: CheckInput, *, same: list[Event], action: str | None = None) -> tuple[Step, ...]:
    """What to do about the events of one code and card; `action`: another than the catalog's."""
    action = action or xid.action
    place = same[-1].pci
    device = device_at(case, place)
    anew = advised_step("reboot") if action == "reboot" else reset_at(case, place)
    now = _named(action, device)
    if action in {"reset", "reboot"}:
        now = (anew,)
    elif action == "drain":
        now = (advised_step("drain"), anew)
    then = _named(f"then_{xid.next}", device)
    past = [is_before_boot(case, event) for event in same]
    if xid.pages(action) and any(past) and not all(past):
        # a start of the machine did not mend it: what comes after goes before another one
        return (advised_step("xid_again"), *then, *now)
    return done_by_boot(case, same, fix=(*now, *then))


def _named(name: str, device: Device | None) -> tuple[Step, ...]:
    return (advised_step(f"xid_{name}", device=device),) if f"xid_{name}" in subject_of(SHARED) else ()
