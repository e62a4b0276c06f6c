"""Mounted file systems as the kernel lists them, and which block device lies below each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rigright.base.units import MIB
from rigright.machine.world import World

FILE = "/proc/self/mountinfo"
_MOST_LINES = 20_000
_MOST_DEPTH = 8
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the list."""

    path: str
    source: str
    kind: str
    device: str  # "259:2"
    root: str  # what of the file system is mounted: "/" is all of it
    options: tuple[str, ...]
    of_system: tuple[str, ...]  # options of the file system itself: "size=65536k"


def entries(world: World) -> tuple[Entry, ...]:
    """Every mount this process sees, in the order they were mounted."""
    lines = (world.text(FILE, 8 * MIB) or "").splitlines()[:_MOST_LINES]
    return tuple(entry for line in lines if (entry := _entry(line)) is not None)


def _entry(line: str) -> Entry | None:
    before, dash, after = line.partition(" - ")
    left, right = before.split(" "), after.split(" ")
    if not dash or len(left) < 6 or len(right) < 2:
        return None
    return Entry(
        path=_plain(left[4]),
        source=_plain(right[1]),
        kind=right[0],
        device=left[2],
        root=_plain(left[3]),
        options=tuple(left[5].split(",")),
        of_system=tuple(right[2].split(",")) if len(right) > 2 else (),
    )


def _plain(path: str) -> str:
    """A path with its blanks, which the kernel writes as numbers."""
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), path)


def disk_below(world: World, entry: Entry) -> str | None:
    """The name of the whole disk below a mount: through partitions, volumes, arrays."""
    place = world.link(f"/sys/dev/block/{entry.device}")
    name = place.rpartition("/")[2] if place else _by_source(world, entry.source)
    return None if name is None else _whole(world, name, depth=0)


def _by_source(world: World, source: str) -> str | None:
    """The device a mount came from, for btrfs and others that tell no number of it."""
    if not source.startswith("/dev/"):
        return None
    name = source.removeprefix("/dev/")
    if name.startswith("mapper/"):
        wanted = name.removeprefix("mapper/")
        names = (
            text
            for text in world.names("/sys/block")
            if world.text(f"/sys/block/{text}/dm/name", 512) == wanted
        )
        return next(names, None)
    return name if "/" not in name and world.has(f"/sys/class/block/{name}") else None


def _whole(world: World, name: str, *, depth: int) -> str | None:
    if depth > _MOST_DEPTH:
        return None
    place = world.link(f"/sys/class/block/{name}") or ""
    if world.has(f"/sys/class/block/{name}/partition") and place:
        return _whole(world, place.split("/")[-2], depth=depth + 1)
    below = world.names(f"/sys/class/block/{name}/slaves")
    if len(below) == 1:
        return _whole(world, below[0], depth=depth + 1)
    return name if world.has(f"/sys/block/{name}") else None
