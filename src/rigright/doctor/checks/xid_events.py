"""What the NVIDIA driver reported in the kernel log: XID codes, each with what to do about it.

An XID names what went wrong on a card. Some ask for a reset or a reboot (fault), some mean worn memory or
links, many only that a program made a mistake (note; from three on the same card, warning). XID 45 follows
other errors and is told only where it stands alone; 154 says what the driver asks for after an error, and
goes before the catalog where it asks for more; 171 and 172 explain 48. XID 63 (a row of memory will be
replaced) needs nothing at once: whether a reset waits is seen by rows_remapped. Of 144 to 150 (NVLink of the
fifth generation) each line says itself whether it is fatal: those that are not are notes.

What happened more than a week ago, or before the last boot, weighs one step less. The log may begin late,
and XIDs of the time before are not in it: see the recovery action too. Source: data/xids.csv, from NVIDIA's
XID catalog for Ampere and newer, of 2025-10; `rigright look-up xids` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import device_at, label
from rigright.doctor.happened import events, most_within, quieter
from rigright.doctor.log_lines import LINE_CHARS, told
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Severity, Verdict, step
from rigright.doctor.xid_asked import AFTER, action_of, followed
from rigright.doctor.xid_steps import steps_of
from rigright.facts.xids import Xid, repeated, xids
from rigright.machine.pci.link import pci_key
from rigright.machine.system import Event

HOUR_S = 3600.0
TITLE = say("errors that the NVIDIA driver reported (XID)")
_SEE = "journalctl -k --no-pager | grep -i 'NVRM: Xid'"
_UNKNOWN = step(say("look the code up in the driver's documentation"))


def check(case: Case) -> Iterator[Verdict]:
    """One finding for each code of each card."""
    found = events(case, "xid")
    if found is None:
        if any(device.vendor == "nvidia" for device in case.machine.devices):
            yield NotSeen(why=say("the kernel log is closed to us"), see=f"sudo {_SEE}")
        return
    if not found and any(device.vendor == "nvidia" for device in case.machine.devices):
        yield Fine(says=say("none in the kernel log"))
    asking = followed(found)
    groups: dict[tuple[str, int], list[Event]] = {}
    for event in found:
        if event.code is not None:
            groups.setdefault((pci_key(event.pci), event.code), []).append(event)
    for (pci, code), same in groups.items():
        alone = {event.code for event in found if pci_key(event.pci) == pci} <= AFTER
        if code not in AFTER or alone:
            after = asking.get((pci, code))
            xid, last = xids().get(code), same[-1]
            device = device_at(case, last.pci)
            action = action_of(xid, same, after=after) if xid else ""
            times = most_within(same, repeated().within_h * HOUR_S)
            severity = xid.severity(action, times=times) if xid else "warning"
            yield Finding(
                severity=quieter(severity, case=case, event=last),
                title=_title(xid, code),
                evidence=(*told(same, _SEE), *((Evidence(shows=after.text[:LINE_CHARS]),) if after else ())),
                why=_why(xid, severity),
                fix=steps_of(xid, case, same=same, action=action) if xid else (_UNKNOWN,),
                confidence="sure" if severity == "fault" else "likely",
                about=label(device) if device else last.pci,
            )


def _title(xid: Xid | None, code: int) -> Sentence:
    if xid is None:
        return say("XID {code}: not in our table", code=code)
    return say("XID {code}: {meaning}", code=code, meaning=xid.meaning)


def _why(xid: Xid | None, severity: Severity) -> Sentence:
    if xid is None:
        return say("the driver reports something that we cannot judge")
    if xid.hardware == "y":
        return say("this points at the card, its memory, its links or its power, not at a program")
    if xid.hardware == "n":
        return say("this points at a program or the driver; the card is sound as far as this tells")
    if severity == "fault":
        return say("programs on the card were ended; the card needs a fresh start before it is trusted")
    return say("mostly a mistake of a program; the same error from different programs points at the card")
