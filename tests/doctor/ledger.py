"""The ledger of checks: for each a machine with its fault, a fine one, one not observed, one it leaves alone.

Every machine is a whole one, read from a grown tree, with something changed. A `Row` may say instead why one
of the four cannot be: an exception bears its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

from boxes import broken, h100, over, rtx4090

from fake_trees import remembered
from healthy_hosts import DESKTOP_GPUS, HOSTS, SERVER_GPUS
from healthy_systems import DRIVER
from rigright.base import shelf
from rigright.base.units import GIB
from rigright.doctor.examine import RANKS, case_of, checks, examine
from rigright.doctor.record import CheckInput, Finding, Fine, NotSeen
from rigright.machine.host import Path as Way
from rigright.machine.probe import joined
from rigright.machine.record import Machine
from rigright.machine.system import Module, Software

PARTS = "rigright.machine.parts"
NOW_S = 1_795_300_000.0
Change = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One check: what shows each of the four things it may do, or why it never does one."""

    finds: tuple[tuple[Change, str, str | None], ...] | str  # machine, severity, about
    fine: Change | str
    unseen: Change | str
    apart: Change | str


# why one of the four is missing
LEFT_OUT = "a card that does not tell this reading is left out; that it answers is gpu_answers' affair"
COMPARED = "a comparison takes what is told: a card that does not tell it is no odd one"
NO_KEEPER = "where the system keeps no such count or setting there is nothing to look at"
UNSET = "a variable that is not set is nothing that could not be seen"
TOLD_BY = "another check says so, once: {check}"
EVERY = "it concerns every machine"


def told_by(check: str) -> str:
    """That another check has the word."""
    assert check in checks()
    return TOLD_BY.format(check=check)


@cache
def whole(name: str) -> Machine:
    """A healthy machine with all its parts and cards at work."""
    if name == "office":
        return _office()
    host = "desktop" if name == "amd" else name
    world = remembered(HOSTS[host]())
    parts = [shelf.take(PARTS, part, bears="read")(world) for part in shelf.names(PARTS)]
    machine = joined(parts)
    devices = CARDS[name]()
    kind, peer = {"server": ("NV18", True)}.get(name, ("PHB", False))
    ways = tuple(
        Way(a=one.index, b=other.index, kind=kind, peer=peer) for one, other in combinations(devices, 2)
    )
    known = {"system__now_s": NOW_S, "software__driver": DRIVER, "software__driver_cuda": "13.0"}
    if name == "amd":
        known |= {"software": Software(driver="6.14.5"), "system__modules": (Module(name="amdgpu"),)}
        known |= {"system__iommu": "passthrough"}
        known = {key: value for key, value in known.items() if not key.startswith("software__")}
    return over(machine, devices=devices, paths=ways, **known)


def _office() -> Machine:
    """A machine without any accelerator, and without NVIDIA's software."""
    desktop = whole("desktop")
    bus = tuple(one for one in desktop.pci if not one.id.startswith("10de"))
    plain = {"kernel_driver": None, "driver": None, "disk_driver": None, "library_drivers": ()}
    plain |= {"driver_cuda": None, "open_kernel": None, "device_files": (), "packages": (), "pythons": ()}
    bare = replace(desktop, devices=(), paths=(), pci=bus, software=replace(desktop.software, **plain))
    return over(bare, system__modules=(), slots=())


def _server():
    """Eight H100, each where the tree has it."""
    return tuple(h100(index, pci=pci, numa_node=index // 4) for index, pci in enumerate(SERVER_GPUS))


def _desktop(**changed):
    """Two cards that share the lanes of a desktop processor."""
    return tuple(
        over(rtx4090(index), **{"pci": pci, "pcie__lanes": 8, "numa_node": 0} | changed)
        for index, pci in enumerate(DESKTOP_GPUS)
    )


def _spark():
    """One GB10 on the processor's memory."""
    one = rtx4090(0, name="NVIDIA GB10", pci="000f:01:00.0", pci_id="10de:2e12", isa="12.1", sms=48)
    one = over(one, unified_memory=True, mem_total_bytes=None, mem_used_bytes=None, bus_bits=None)
    one = over(one, power__limit_w=None, power__limit_default_w=None, pcie__gen=1, pcie__lanes=1)
    return (one,)


AMD = {
    "mem_total_bytes": 31.98 * GIB,
    "vendor": "amd",
    "name": "AMD Instinct MI100",
    "pci_id": "1002:738c",
    "links": None,
    "recovery": None,
}
CARDS = {
    "server": _server,
    "desktop": _desktop,
    "spark": _spark,
    "amd": lambda: _desktop(**AMD),
}


def made(change: Change) -> CheckInput:
    """A whole machine with a change: `on` names it, `cards` changes some, `count` keeps the first ones."""
    left = dict(change)
    machine = whole(str(left.pop("on", "server")))
    cards, count = left.pop("cards", {}), left.pop("count", None)
    wanted, results = left.pop("wanted", None), left.pop("results", ())
    baseline = left.pop("baseline", None)
    every = left.pop("every", {})
    gone = left.pop("gone", ())
    devices = tuple(
        over(one, **{**every, **cards.get(one.index, {})})
        for one in machine.devices[:count]
        if one.index not in gone
    )
    for name, changed in {
        key: left.pop(key) for key in ("pci_of", "mount_of", "port_of") if key in left
    }.items():
        field, key = {"pci_of": ("pci", "address"), "mount_of": ("mounts", "path")}.get(
            name, ("ports", "name")
        )
        there = getattr(machine, field)
        assert set(changed) <= {getattr(one, key) for one in there}
        machine = replace(
            machine, **{field: tuple(over(one, **changed.get(getattr(one, key), {})) for one in there)}
        )
    machine = over(replace(machine, devices=devices), **left)
    return case_of(machine, wanted=wanted, results=tuple(results), baseline=baseline)


def verdicts(check: str, change: Change) -> tuple:
    """What one check says of a machine."""
    (checked,) = examine(made(change), (check,)).checks
    assert broken([checked]) == []
    return checked.verdicts


def named(rows: Mapping[str, Row], part: str):
    """Every row with a machine for one of the four."""
    return [name for name, row in rows.items() if not isinstance(getattr(row, part), str)]


def finds(check: str, row: Row) -> None:
    """Each planted fault is found, as severe as it is, on its thing, and nothing else by this check."""
    for change, severity, about in row.finds:
        found = [one for one in verdicts(check, change) if isinstance(one, Finding)]
        assert (severity, about) in {(one.severity, one.about) for one in found}, found
        assert [
            one for one in found if one.about == about and RANKS.index(one.severity) < RANKS.index(severity)
        ] == []


def is_fine(check: str, row: Row) -> None:
    """It looks, and has nothing to say against it."""
    kinds = {type(one) for one in verdicts(check, row.fine)}
    assert kinds == {Fine}


def is_unseen(check: str, row: Row) -> None:
    """It says that it could not look, and what would show it; never an alarm."""
    said = verdicts(check, row.unseen)
    hidden = [one for one in said if isinstance(one, NotSeen)]
    assert hidden
    assert [one for one in said if isinstance(one, Finding)] == []
    assert [one for one in hidden if not (one.see or "").strip()] == []


def is_apart(check: str, row: Row) -> None:
    """It says nothing at all."""
    assert verdicts(check, row.apart) == ()


__all__ = ["GIB", "Row", "finds", "is_apart", "is_fine", "is_unseen", "made", "named", "told_by", "verdicts"]
