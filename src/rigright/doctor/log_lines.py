"""Findings from lines of the kernel's log: how often, when last, of what."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace

from rigright.base.words import say
from rigright.doctor.happened import done_by_boot, events, quieter, when
from rigright.doctor.record import CheckInput, Evidence, Finding, Fine, NotSeen, Verdict
from rigright.machine.system import Event

LINE_CHARS = 160


def unseen(case: CheckInput, words: str) -> NotSeen | None:
    """Where the log is closed to us: what would show it."""
    if events(case) is not None:
        return None
    return NotSeen(why=say("no permission to read the kernel log"), see=f"sudo dmesg | grep -iE '{words}'")


def by_place(events: Iterable[Event]) -> dict[str | None, list[Event]]:
    """Events by the device of the bus they tell of."""
    groups: dict[str | None, list[Event]] = {}
    for event in events:
        groups.setdefault(event.pci, []).append(event)
    return groups


def logged(case: CheckInput, advised: Finding, *, of: list[Event]) -> Finding:
    """A finding of events: how often and when they were seen; long past ones weigh less."""
    last = of[-1]
    show = "journalctl -k --no-pager | grep -F " + shlex.quote(last.text[:40])
    return replace(
        advised,
        severity=quieter(advised.severity, case=case, event=last),
        evidence=log_evidence(of, show),
        fix=done_by_boot(case, of, fix=advised.fix),
        confidence="likely",
        about=last.pci,
    )


def log_evidence(same: list[Event], command: str) -> tuple[Evidence, ...]:
    """How often and when last, and the last line itself."""
    last = same[-1]
    often = say("{count} times, last {when}", count=len(same), when=when(last))
    return (
        Evidence(shows=often if len(same) > 1 else when(last), command=command),
        Evidence(shows=last.text[:LINE_CHARS]),
    )


def log_is_clean(case: CheckInput, kind: str) -> Verdict | None:
    """A good word where the log was read and holds none of a kind."""
    return Fine(says=say("none in the kernel log")) if events(case, kind) == [] else None
