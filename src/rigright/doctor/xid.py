"""What an XID asks for on a card, and the steps that do it.

The action is the catalog's, or what the line itself or an XID 154 after it says; then comes the next step.
"""

from __future__ import annotations

import re

from rigright.doctor.advice import SHARED, advised_step, subject_of
from rigright.doctor.gpus import device_at, reset_at
from rigright.doctor.kernel_log import done_by_boot, is_before_boot
from rigright.doctor.record import CheckInput, Step
from rigright.facts.faults import Xid
from rigright.machine.device import Device
from rigright.machine.pci import pci_key
from rigright.machine.system import Event

_CHANGED = 154  # "GPU recovery action changed from ... to ..."
AFTER = {45, _CHANGED, 171, 172}  # told of another error
_NVLINK5 = range(144, 151)  # their lines say of each error whether it is fatal
_TO = re.compile(r"recovery action changed.* to 0x[0-9a-f]+ \(([^)]*)\)", re.IGNORECASE)
_ACTIONS = (
    ("boot", "reboot"),
    ("drain", "drain"),
    ("reset", "reset"),
    ("flr", "reset"),
    ("none", "none"),
)
_FATAL = re.compile(r"\b(non-?)?fatal\b", re.IGNORECASE)
_HARDER = ("none", "drain", "reset", "reboot")


def asked(event: Event) -> str | None:
    """The recovery that a line of XID 154 names: "none", "drain", "reset", "reboot"."""
    match = _TO.search(event.text) if event.code == _CHANGED else None
    words = match[1].lower() if match else ""
    return next((action for word, action in _ACTIONS if word in words), None)


def followed(events: list[Event]) -> dict[tuple[str, int], Event]:
    """By card and code: the XID 154 that came after it and before any other error of the card."""
    last: dict[str, int] = {}
    asking: dict[tuple[str, int], Event] = {}
    for event in events:
        card = pci_key(event.pci)
        if event.code is not None and event.code not in AFTER:
            last[card] = event.code
        elif asked(event) is not None and card in last:
            asking[card, last[card]] = event
    return asking


def action_of(xid: Xid, same: list[Event], *, after: Event | None) -> str:
    """The action at once: the harder of what the error asks for and what the driver asked for after it."""
    own = xid.action
    if xid.code == _CHANGED:
        own = asked(same[-1]) or own
    elif xid.code in _NVLINK5:
        flags = {match[1] is None for event in same if (match := _FATAL.search(event.text))}
        own = own if not flags else "reset" if True in flags else "watch"
    more = asked(after) if after is not None else None
    return more if more and _HARDER.index(more) > _HARDER.index(own if own in _HARDER else "none") else own


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
