"""What a machine, its cards and the cause to mend first are called on a page."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from rigright.base.page import Shown
from rigright.base.words import Sentence, say
from rigright.doctor.binding.judgement import JudgedCause
from rigright.doctor.wires import counted
from rigright.machine.record import Machine

_MOST_FORMS, _MOST_UNREAD = 12, 3


def machine_name(machine: Machine) -> Shown:
    """The machine in a few words: its name and its accelerators."""
    kinds = Counter(device.name or f"{device.vendor.upper()} GPU" for device in machine.devices)
    place = PurePath(machine.origin).name if machine.is_capture else machine.origin
    host = machine.system.host or (say("this machine") if machine.origin == "live" else place)
    if kinds:
        return say("{host}: {cards}", host=host, cards=counted(kinds, " + "))
    # a capture may hold nothing of accelerators at all
    return host if machine.is_capture else say("{host}, no GPU found", host=host)


def understood(machine: Machine) -> Iterator[Shown]:
    """What of a capture was read and what was not, where there is more than one thing to tell."""
    if len(machine.read_as) > 1 or machine.unread:
        yield say("read: {forms}", forms=", ".join(machine.read_as[:_MOST_FORMS]))
    if machine.cut:
        yield partly(machine.cut)
    if machine.unread:
        names = ", ".join(machine.unread[:_MOST_UNREAD])
        more = len(machine.unread) - _MOST_UNREAD
        sentence = say("{names} and {count} more", names=names, count=more) if more > 0 else names
        yield say("not recognised: {names}", names=sentence)


def partly(names: Sequence[str]) -> Sentence:
    """What was read only in part."""
    return say("only partly read (truncated or too large): {names}", names=", ".join(names[:_MOST_UNREAD]))


def first_of(lead: JudgedCause) -> Sentence:
    """What to mend before anything else."""
    if not lead.about:
        return say("fix first: {title}", title=lead.finding.title)
    return say("fix first: {title} ({about})", title=lead.finding.title, about=", ".join(sorted(lead.about)))


def of_origin(origin: str, *, flag: str = "--from") -> str:
    """Behind a command: the file that it is to read; nothing on the machine itself."""
    return "" if origin == "live" else f" {flag} {shlex.quote(origin)}"
