"""Whose each file is, where those of several machines were handed over: by host names, cards and drivers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rigright.base.units import MIB
from rigright.machine.opened.archive import Member

_LOOKED_AT = MIB  # of each file
_MOST_FILES = 1000  # that tell of a machine
_HOST = re.compile(
    r"^(?:uname: )?Linux (\S{1,100}) \d+\.\d+\.\S+ #|^ *Static hostname: (\S{1,100})$", re.MULTILINE
)
_CARD = re.compile(
    r"\bGPU (?:(?P<at>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)|(?P<number>\d{1,3}):)"
    r"|<gpu id=\"(?P<id>[0-9A-Fa-f:.]{12,20})\""
    r"|(?P<uuid>GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)
_ATTACHED = re.compile(r"(?:^Attached GPUs\s*:\s*|<attached_gpus>)(\d{1,4})\b", re.MULTILINE)
_DRIVER = re.compile(r"(?:^Driver Version\s*:\s*|<driver_version>)(\d{3}\.[\d.]{2,12})", re.MULTILINE)
_MASKED = "GPU-00000000-0000-0000-0000-000000000000"  # in what was made public
_NOBODY = frozenset({"localhost", "(none)"})


@dataclass(frozen=True, slots=True)
class _Traces:
    """What a file tells of its machine."""

    name: str
    hosts: set[str]
    cards: dict[str, set[str]]  # place -> those seen in it
    uuids: set[str]
    has_all: bool  # it lists every card of its machine
    drivers: set[str]


def machines_of(members: Iterable[Member]) -> tuple[str, ...]:
    """The names of the machines that files are of; () where nothing tells of more than one.

    A machine is called by its host, else by the folder its files lie in, else by the first file.
    """
    given = [item for item in map(_traces, members) if item.hosts or item.cards][:_MOST_FILES]
    result: list[list[_Traces]] = []
    for traces in sorted(given, key=lambda item: not item.hosts):
        own = [item for item in result if any(_same(traces, other) for other in item)]
        own = own or [item for item in result if not any(_apart(traces, other) for other in item)]
        if own:
            own[0].append(traces)
        else:
            result.append([traces])
    if len(result) < 2:
        return ()
    tops = [item[0].name.partition("/")[0] for item in result]
    calls = tops if len(set(tops)) == len(tops) else [item[0].name for item in result]
    return tuple(sorted(min(item[0].hosts, default=call) for item, call in zip(result, calls, strict=True)))


def _same(a: _Traces, b: _Traces) -> bool:
    return bool(a.hosts & b.hosts or a.uuids & b.uuids)


def _apart(a: _Traces, b: _Traces) -> bool:
    """Whether two files that share no host and no card are of two machines.

    They name two hosts, or two cards in one place, or both list every card, or their drivers differ. Cards
    that were asked one by one (`nvidia-smi -q -i 0`) are of one machine.
    """
    if a.hosts and b.hosts:
        return True
    if not (a.cards and b.cards):
        return False
    if a.has_all and b.has_all:
        return True
    if a.drivers and b.drivers and not a.drivers & b.drivers:
        return True
    return any(a.cards[place] and b.cards[place] for place in a.cards.keys() & b.cards)


def _traces(member: Member) -> _Traces:
    text = member.raw[:_LOOKED_AT].decode("utf-8", "replace")
    cards: dict[str, set[str]] = {}
    place = None
    for match in _CARD.finditer(text):
        if match["uuid"] is None:
            place = match["at"] or match["number"] or match["id"]
        elif place is not None:
            cards.setdefault(place.lower(), set()).update({match["uuid"]} - {_MASKED})
            place = None
    uuids = set().union(*cards.values())
    attached = max((int(item[1]) for item in _ATTACHED.finditer(text)), default=None)
    return _Traces(
        member.name,
        {(item[1] or item[2]).partition(".")[0] for item in _HOST.finditer(text)} - _NOBODY,
        cards,
        uuids,
        attached is not None and len(uuids) >= attached > 0,
        {item[1] for item in _DRIVER.finditer(text)},
    )
