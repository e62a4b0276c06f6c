"""Whose each file is, where those of several machines were handed over: by host names and cards."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rigright.base.units import MIB
from rigright.machine.opened.archive import Member

_LOOKED_AT = MIB  # of each file
_HOST = re.compile(
    r"^(?:uname: )?Linux (\S{1,100}) \d+\.\d+\.\S+ #|^ *Static hostname: (\S{1,100})$", re.MULTILINE
)
_CARD = re.compile(
    r"\bGPU (?:(?P<at>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)|(?P<number>\d{1,3}):)"
    r"|<gpu id=\"(?P<id>[0-9A-Fa-f:.]{12,20})\""
    r"|(?P<uuid>GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)


def machines_of(members: Iterable[Member]) -> tuple[str, ...]:
    """The names of the machines that files are of; () where nothing tells of more than one.

    Two files are of two machines where they name two hosts, or two cards in one place. A machine is called by
    its host, else by the folder its file lies in, else by the file.
    """
    hosts: dict[str, str] = {}  # the first file of each
    cards: dict[str, dict[str, str]] = {}  # place -> its card -> the first file
    for member in members:
        text = member.raw[:_LOOKED_AT].decode("utf-8", "replace")
        for match in _HOST.finditer(text):
            hosts.setdefault(match[1] or match[2], member.name)
        place = None
        for match in _CARD.finditer(text):
            if match["uuid"] is None:
                place = match["at"] or match["number"] or match["id"]
            elif place is not None:
                cards.setdefault(place.lower(), {}).setdefault(match["uuid"], member.name)
                place = None
    apart = max(cards.values(), key=len, default={})
    if len(hosts) > 1:
        return tuple(sorted(hosts))
    files = set(apart.values())
    if len(apart) < 2 or len(files) < 2:  # a card changed while one looked, in one file
        return ()
    tops = {name.partition("/")[0] for name in files}
    return tuple(sorted(tops if len(tops) == len(files) else files))
