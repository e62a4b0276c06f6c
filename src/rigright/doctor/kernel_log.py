"""Events of the kernel log: of which card, how long ago, before or since this boot, and as findings."""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from rigright.base.units import KILO
from rigright.base.words import Sentence, say
from rigright.doctor.advice import stated
from rigright.doctor.record import CheckInput, Evidence, Finding, Fine, NotSeen, Severity, Step, Verdict
from rigright.machine.opened.forms import fault_forms
from rigright.machine.running.messages import MESSAGE, UNKNOWN
from rigright.machine.system import Event

LINE_CHARS = 160
_OLD_S = 7 * 86400  # what happened longer ago and not again is told more quietly
_OF_TEXT = frozenset({MESSAGE, UNKNOWN, "model", "card"})  # kinds of what programs and tools said
_ANEW = re.compile(r"systemctl reboot|--gpu-?reset")
_STARTED = Step(says=say("the machine has rebooted since: act only if it recurs"))
_MILDER: dict[Severity, Severity] = {"fault": "warning", "warning": "note", "note": "note"}


def events(case: CheckInput, *kinds: str) -> list[Event] | None:
    """Events of these kinds, oldest first; None where the log could not be read."""
    if case.machine.events is None or not ((kinds and _OF_TEXT.issuperset(kinds)) or _holds_log(case)):
        return None
    return [event for event in case.machine.events if event.kind in kinds]


def _holds_log(case: CheckInput) -> bool:
    """Whether the kernel's log was there to be read: a text of programs and tools alone is none."""
    machine = case.machine
    texts = fault_forms() | {"messages", "text"}
    return (
        not texts.intersection(machine.read_as)
        or "kernel log" in machine.read_as
        or any(event.kind not in _OF_TEXT for event in machine.events or ())
    )


def age_s(case: CheckInput, event: Event) -> float | None:
    """Seconds since it happened, where clocks tell."""
    system = case.machine.system
    if event.at_s is not None and system.now_s is not None:
        return max(0.0, system.now_s - event.at_s)
    if not event.earlier and event.up_s is not None and system.up_s is not None:
        return max(0.0, system.up_s - event.up_s)
    return None


def is_before_boot(case: CheckInput, event: Event) -> bool:
    """Whether the machine has been started anew since."""
    if event.earlier:
        return True
    age, up = age_s(case, event), case.machine.system.up_s
    return age is not None and up is not None and age > up


def done_by_boot(case: CheckInput, same: list[Event], *, fix: tuple[Step, ...]) -> tuple[Step, ...]:
    """A fix for events of before the last boot alone: a reset or a reboot has been had since."""
    if not all(is_before_boot(case, event) for event in same):
        return fix
    rest = tuple(step for step in fix if step.command is None or not _ANEW.search(step.command))
    return rest if rest == fix else (_STARTED, *rest)


def most_within(same: list[Event], span_s: float) -> int:
    """The most of them in any stretch of time that long; of those without a time, all."""
    values = (event.up_s if event.at_s is None else event.at_s for event in same)
    at_s = sorted(value for value in values if value is not None)
    if len(at_s) < len(same):
        return len(same)
    return max(bisect_right(at_s, start + span_s) - place for place, start in enumerate(at_s))


def quieter(severity: Severity, *, case: CheckInput, event: Event) -> Severity:
    """An event of long ago, or of before the last boot, weighs one step less."""
    age = age_s(case, event)
    is_past = is_before_boot(case, event) or (age is not None and age > _OLD_S)
    return _MILDER[severity] if is_past else severity


def when(event: Event) -> Sentence:
    """When it happened, for people."""
    if event.at_s is not None and 0 <= event.at_s < 100 * KILO * KILO * KILO:
        return say("{date} UTC", date=datetime.fromtimestamp(event.at_s, UTC).strftime("%Y-%m-%d %H:%M:%S"))
    if event.earlier:
        return say("before the last boot")
    if event.up_s is not None:
        return say("{seconds} s after boot", seconds=f"{event.up_s:.0f}")
    return say("at an unknown time")


def unseen(case: CheckInput, words: str) -> NotSeen | None:
    """Where the log is closed to us: what would show it."""
    if events(case) is not None:
        return None
    return NotSeen(why=say("no permission to read the kernel log"), see=f"sudo dmesg | grep -iE '{words}'")


def log_state(case: CheckInput, words: str, *kinds: str) -> Verdict | None:
    """Where the log is closed to us, what would show it; a good word where it holds none of these kinds."""
    clean = None if events(case, *kinds) else Fine(says=say("none in the kernel log"))
    return unseen(case, words) or clean


def by_place(events: Iterable[Event]) -> dict[str | None, list[Event]]:
    """Events by the device of the bus they tell of."""
    groups: dict[str | None, list[Event]] = {}
    for event in events:
        groups.setdefault(event.pci, []).append(event)
    return groups


def meant(subject: str, kind: str, events: Iterable[Event]) -> Iterator[tuple[str, list[Event]]]:
    """Lines by the finding that their words mean, the first that fits, and by what they tell of."""
    groups: dict[str, list[Event]] = {name: [] for name in stated(subject, kind)}
    for event in events:
        line = event.text.lower()
        words = stated(subject, kind).items()
        groups[next(name for name, marks in words if any(map(line.__contains__, marks)))].append(event)
    for name, mine in groups.items():
        yield from ((f"{subject}.{name}", same) for same in by_place(mine).values())


def logged(case: CheckInput, advised: Finding, *, of: list[Event]) -> Finding:
    """A finding of events: how often and when they were seen; long past ones weigh less."""
    last = of[-1]
    return replace(
        advised,
        severity=quieter(advised.severity, case=case, event=last),
        evidence=log_evidence(of),
        fix=done_by_boot(case, of, fix=advised.fix),
        confidence="likely",
        about=last.pci,
    )


def log_evidence(same: list[Event], command: str | None = None) -> tuple[Evidence, ...]:
    """How often and when last, and the last line itself; without a command, that line is searched for."""
    last = same[-1]
    command = command or "journalctl -k --no-pager | grep -F " + shlex.quote(last.text[:40])
    often = say("{count} times, last {when}", count=len(same), when=when(last))
    return (
        Evidence(shows=often if len(same) > 1 else when(last), command=command),
        Evidence(shows=last.text[:LINE_CHARS]),
    )
