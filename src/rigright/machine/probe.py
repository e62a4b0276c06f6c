"""Reads the whole machine: every vendor and every part at once, each at its own risk."""

from __future__ import annotations

import time
from dataclasses import fields, is_dataclass, replace
from threading import Thread
from typing import Any

from rigright.base import shelf
from rigright.base.errors import RigError
from rigright.base.patience import patience
from rigright.base.words import Sentence, say
from rigright.machine.host import PciDevice
from rigright.machine.possible import possible
from rigright.machine.record import Machine, Read, Unseen
from rigright.machine.world import World

_RDMA = ("infiniband", "roce")
_MOST = 256
PATIENCE_S = 8.0  # for all of it: a part that is not done by then is not observed
_SHELVES = ("rigright.machine.vendors", "rigright.machine.parts")


def probe(world: World, *, patience_s: float = PATIENCE_S, origin: str = "live") -> Machine:
    """The machine as it is now."""
    parts = [(package, name) for package in _SHELVES for name in shelf.names(package)]
    done: dict[str, Read] = {}
    threads = [
        Thread(
            target=_try,
            args=(done, name),
            kwargs={"package": package, "world": world},
            daemon=True,
        )
        for package, name in parts
    ]
    until = time.monotonic() + patience(patience_s, world.env)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    late = say("timed out")
    read = joined([done.get(name) or _lost(name, late) for _, name in parts], origin=origin)
    return possible(with_nics(read))


def _try(done: dict[str, Read], name: str, *, package: str, world: World) -> None:
    """Read one part; whatever goes wrong is stated, and stays its own."""
    try:
        done[name] = shelf.take(package, name, bears="read")(world)
    except Exception as error:  # noqa: BLE001 - a driver may fail in any way
        why = error.sentence if isinstance(error, RigError) else f"{type(error).__name__}: {error}"
        done[name] = _lost(name, say("cannot be read: {why}", why=why))


def _lost(name: str, why: Sentence) -> Read:
    return Read(unseen=(Unseen(what=name, why=why),))


def joined(reads: list[Read], *, origin: str = "live") -> Machine:
    """One machine from what each part read: lists one after another, records laid over each other."""
    fields: dict[str, Any] = {}
    for read in reads:
        for name, value in read.fields.items():
            fields[name] = _over(fields.get(name), value)
    unseen = tuple(gap for read in reads for gap in read.unseen)
    return Machine(**fields, origin=origin, unseen=unseen)


def _over(before: Any, value: Any) -> Any:
    """A list goes on, a record is filled in, anything else is said anew."""
    if before is None or value is None:
        return before if value is None else value
    if isinstance(before, tuple) and isinstance(value, tuple):
        return before + value
    if is_dataclass(before) and not isinstance(before, type):
        bare = type(before)()
        given = {field.name: getattr(value, field.name) for field in fields(before)}
        return replace(before, **{name: new for name, new in given.items() if new != getattr(bare, name)})
    return value


def with_nics(machine: Machine) -> Machine:
    """The machine, each of its cards with the way to each RDMA card, where the bus shows both."""
    bus = {device.address: device for device in machine.pci or ()}
    ports = {port.name.partition("/")[0]: port.pci for port in machine.ports or () if port.kind in _RDMA}
    nics = [(name, bus[pci]) for name, pci in ports.items() if pci in bus][:_MOST]
    if not nics:
        return machine
    devices = tuple(
        replace(
            device,
            nics=tuple((name, way) for name, nic in nics if (way := way_between(bus[device.pci], nic))),
        )
        if device.pci in bus and not device.nics
        else device
        for device in machine.devices
    )
    return replace(machine, devices=devices)


def way_between(device: PciDevice, other: PciDevice) -> str | None:
    """PIX: one switch between them; PXB: several; PHB: one host bridge; NODE: one NUMA node; SYS: two."""
    common = len({*device.parents} & {*other.parents})
    if common:
        return "PIX" if max(len(device.parents), len(other.parents)) - common <= 1 else "PXB"
    if _root(device) == _root(other):
        return "PHB"
    if (device.numa_node is None) != (other.numa_node is None):
        return None
    return "NODE" if device.numa_node == other.numa_node else "SYS"


def _root(device: PciDevice) -> str:
    """The host bridge: domain and bus of the first bridge, or of what sits right on it."""
    return (device.parents or (device.address,))[0].rpartition(":")[0]
