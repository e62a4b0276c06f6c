"""Whether errors that usually are a program's fault keep coming from one card.

XID 13, 31, 32 and 43 mostly mean a bug in a program. From at least three different processes on one card,
while other cards that also worked stay quiet, they point at the card: NVIDIA's catalog asks for a diagnosis
when 13 repeats on the same part (TPC or GPC), and for a look at the card when 31 comes from one card alone.

Warning, likely and not certain. Sources: NVIDIA's XID catalog (2025-10), requests of operators to
NVSentinel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import device_at, label
from rigright.doctor.happened import events
from rigright.doctor.record import Case, Evidence, Finding, Verdict, as_root, step
from rigright.facts.xids import repeated
from rigright.machine.pci.link import pci_key
from rigright.machine.system import Event

TITLE = say("errors of programs that keep coming from one card")
CODES = {13, 31, 32, 43}
LEAST_PROGRAMS = repeated().times
_UNIT = re.compile(r"GPC\s*(\d{1,18})\s*,\s*TPC\s*(\d{1,18})", re.IGNORECASE)
_SEE = "journalctl -k --no-pager | grep -i 'NVRM: Xid'"


def check(case: Case) -> Iterator[Verdict]:
    """A finding for a card that stands out."""
    found = [event for event in events(case, "xid") or [] if event.code in CODES and event.pid]
    by_card: dict[str, list[Event]] = {}
    for event in found:
        by_card.setdefault(pci_key(event.pci), []).append(event)
    for pci, same in by_card.items():
        programs = {event.pid for event in same}
        others = {event.pid for event in found} - programs
        if len(programs) >= LEAST_PROGRAMS and not others and len(case.machine.devices) > 1:
            yield _finding(case, same, pci=pci)


def _finding(case: Case, same: list[Event], *, pci: str) -> Finding:
    device = device_at(case, pci)
    units = Counter(match.group() for event in same if (match := _UNIT.search(event.text)))
    unit, times = next(iter(units.most_common(1)), ("", 0))
    programs = len({event.pid for event in same})
    shows = say(
        "{count} errors from {programs} processes, on this card alone", count=len(same), programs=programs
    )
    told = [Evidence(shows=shows, command=_SEE)]
    if times >= LEAST_PROGRAMS:
        told.append(Evidence(shows=say("{count} of them on the same part: {unit}", count=times, unit=unit)))
    return Finding(
        severity="warning",
        title=say("different programs fail on this card, and on no other"),
        evidence=tuple(told),
        why=say("a bug in a program would strike every card it runs on: this one may compute wrongly"),
        fix=(
            step(say("run the same program on another card; if it passes there, the card is at fault")),
            as_root(
                say("run the vendor's diagnosis while nothing else runs"), "dcgmi diag -r 3", disturbs=True
            ),
        ),
        verify=_SEE,
        confidence="likely",
        about=label(device) if device else pci,
    )
