"""Machines whose hardware is read from a grown tree, with cards made by hand in their places on its bus.

Only what a fault touches is grown and read again; the rest is the healthy machine's reading.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from boxes import NOW_S, UP_S, h100, over, rtx4090

from fake_trees import remembered, told
from healthy_hosts import DESKTOP_GPUS, HOSTS, SERVER_GPUS
from rigright.doctor.examine import case_of, examine
from rigright.doctor.record import Finding
from rigright.machine.parts import bus, disks, main_memory, network, processor, sensors
from rigright.machine.probe import joined
from rigright.machine.system import System

PARTS = {  # each with the pieces of a host that it reads
    bus: {"pci", "dmi"},
    disks: {"pci", "disks", "mounts", "commands"},
    main_memory: {"memory", "dmi", "mounts"},
    network: {"pci", "net", "infiniband", "commands"},
    processor: {"cpu"},
    sensors: {"hwmon", "commands"},
}
EVERYTHING = {"files", "links", "gone"}
MINE = ("pcie", "cpu", "memory", "disk", "net", "ib", "supply", "board")  # beginnings of names of checks
CARDS = {"server": (h100, SERVER_GPUS), "desktop": (rtx4090, DESKTOP_GPUS)}


@cache
def healthy(name):
    """What each part reads of a healthy machine."""
    world = remembered(HOSTS[name]())
    return {part: part.read(world) for part in PARTS}


def hardware_of(host):
    """The machine of a host, without its cards."""
    reads = dict(healthy(host["like"]))
    changed = set(host)
    touched = [part for part, pieces in PARTS.items() if changed & (pieces | EVERYTHING)]
    if touched:
        wanted = set().union(*(PARTS[part] for part in touched), EVERYTHING)
        grown = {name: piece for name, piece in told(host).items() if name in wanted}
        world = remembered(grown)
        reads |= {part: part.read(world) for part in touched}
    return joined(list(reads.values()))


def machine_of(host, *, cards=None, system=None):
    """The machine of a host; `cards` maps the index of a card to what is other with it, or to None: gone."""
    make, places = CARDS[host["like"]]
    lanes = {"server": 16, "desktop": 8}[host["like"]]
    changes = {} if cards is None else cards
    devices = [
        over(make(index), **{"pci": pci, "pcie__lanes": lanes} | changes.get(index, {}))
        for index, pci in enumerate(places)
        if changes.get(index, {}) is not None
    ]
    outside = {"host": "box", "now_s": NOW_S, "up_s": UP_S, "virtual": "none", "container": "none"}
    return replace(hardware_of(host), devices=tuple(devices), system=System(**outside | (system or {})))


def examined(machine):
    """All that the checks of hardware say."""
    return examine(case_of(machine), tuple(f"{name}_*" for name in MINE))


def found(machine):
    """(check, severity, about) of everything the checks of hardware find."""
    return [(check, one.severity, one.about) for check, one in examined(machine).findings]


def only(machine, check):
    """The one finding of one check."""
    (one,) = [finding for name, finding in examined(machine).findings if name == check]
    assert isinstance(one, Finding)
    return one
