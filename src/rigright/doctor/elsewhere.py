"""What was not seen, said for the machine it is about: the file it came from, its system, its vendor."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from rigright.base.tables import DATA, read_rows, text
from rigright.base.words import say
from rigright.doctor.record import NotSeen
from rigright.machine.record import Machine

_NOTHING = "-"
_MAKERS = {"10de": "nvidia", "1002": "amd"}


def for_machine(one: NotSeen, machine: Machine) -> NotSeen | None:
    """The same with a command that can be typed there; None where no such thing is on its system."""
    for where in (_system(machine), _vendor(one, machine)):
        instead = _instead(one.see or "", where)
        if instead == _NOTHING:
            return None
        one = replace(one, see=instead or one.see)
    if one.see and _system(machine) == "windows":
        one = replace(one, see=one.see.partition(" | grep")[0])
    return replace(one, why=say("not in this file")) if machine.is_capture and not one.idle else one


def _system(machine: Machine) -> str:
    name = f"{machine.system.os_id} {machine.system.os_name}".lower()
    if "windows" in name:
        return "windows"
    if "macos" in name or any(one.vendor == "apple" for one in machine.devices):
        return "macos"
    return "container" if machine.system.is_contained else "linux"


def _vendor(one: NotSeen, machine: Machine) -> str:
    """Whose card it is about; NVIDIA's where the machine has one, or nobody tells."""
    vendors = [card.vendor for card in machine.devices]
    vendors += [_MAKERS[function.id[:4]] for function in machine.pci or () if function.id[:4] in _MAKERS]
    named = (one.about or "").partition(" ")[0]
    return named if named in vendors else "nvidia" if "nvidia" in vendors or not vendors else vendors[0]


def _instead(see: str, where: str) -> str:
    """What stands in the table for a command there, by its longest beginning; "" for nothing."""
    fits = [
        (starts, instead) for starts, place, instead in _rows() if place == where and see.startswith(starts)
    ]
    return max(fits, key=lambda row: len(row[0]))[1] if fits else ""


@cache
def _rows() -> tuple[tuple[str, str, str], ...]:
    columns = ("starts", "where", "instead", "source", "as_of")
    rows = read_rows(DATA / "commands_elsewhere.csv", dict.fromkeys(columns, text), required=columns)
    return tuple((row["starts"], row["where"], row["instead"]) for row in rows)
