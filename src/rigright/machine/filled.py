"""One reading laid over another of the same thing: what the first does not know, the second says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any, TypeVar

from rigright.machine.device import Device

R = TypeVar("R")


def filled(record: R, other: R) -> R:
    """The record with its gaps, and those of the records in it, filled from another."""
    if not is_dataclass(record) or isinstance(record, type):
        return record
    changes: dict[str, Any] = {}
    for field in fields(record):
        mine, theirs = getattr(record, field.name), getattr(other, field.name)
        if is_dataclass(mine) and type(mine) is type(theirs):
            changes[field.name] = filled(mine, theirs)
        elif field.name == "links" and mine and theirs:
            known = {link.index: link for link in theirs}
            changes["links"] = tuple(filled(link, known.get(link.index, link)) for link in mine)
        elif field.name == "slices" and mine and len(mine) == len(theirs):
            changes["slices"] = tuple(map(filled, mine, theirs))
        elif _is_gap(mine, field.default) and not _is_gap(theirs, field.default):
            changes[field.name] = theirs
    return replace(record, **changes)


def _is_gap(value: Any, default: Any) -> bool:
    """Whether a field says nothing: unknown, or an empty list where that is what it begins with."""
    return value is None or value == "" or (value == () and default in ((), MISSING))


def keyed(values: Iterable[R], names: tuple[str, ...]) -> tuple[R, ...]:
    """Each thing once: those that some fields say are the same, filled from each other."""
    things: dict[tuple[object, ...], R] = {}
    for value in values:
        key = tuple(getattr(value, name) for name in names)
        things[key] = filled(things[key], value) if key in things else value
    return tuple(things.values())


def devices_filled(devices: tuple[Device, ...], others: tuple[Device, ...]) -> tuple[Device, ...]:
    """Each device filled from the same one of another reading; what only the other saw stands behind."""
    left = list(others)
    whole = []
    for device in devices:
        same = next((item for item in left if _is_same(device, item)), None)
        if same is not None:
            left.remove(same)
        whole.append(device if same is None else filled(device, same))
    return (*whole, *left)


def _is_same(device: Device, other: Device) -> bool:
    """By the surest mark that both bear."""
    for mark in ("uuid", "pci"):
        mine, theirs = getattr(device, mark), getattr(other, mark)
        if mine is not None and theirs is not None:
            return bool(mine == theirs)
    return (device.vendor, device.index) == (other.vendor, other.index)
