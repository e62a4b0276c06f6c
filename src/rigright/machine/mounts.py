"""Mounted file systems that data may lie on, with their space; one that hangs costs its own time only."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import dataclass

from rigright.base.units import KIB, MIB
from rigright.base.words import say
from rigright.machine.at_once import at_once
from rigright.machine.host import Mount
from rigright.machine.record import Unseen
from rigright.machine.world import World

_FILE = "/proc/self/mountinfo"
_MOST_LINES = 20_000
_MOST_DEPTH = 8
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One line of the list."""

    path: str
    source: str
    kind: str
    device: str  # "259:2"
    root: str  # what of the file system is mounted: "/" is all of it
    options: tuple[str, ...]
    of_system: tuple[str, ...]  # options of the file system itself: "size=65536k"


def entries(world: World) -> tuple[_Entry, ...]:
    """Every mount this process sees, in the order they were mounted."""
    lines = (world.text(_FILE, 8 * MIB) or "").splitlines()[:_MOST_LINES]
    return tuple(entry for line in lines if (entry := _entry(line)) is not None)


def _entry(line: str) -> _Entry | None:
    before, dash, after = line.partition(" - ")
    left, right = before.split(" "), after.split(" ")
    if not dash or len(left) < 6 or len(right) < 2:
        return None
    return _Entry(
        path=_unquoted(left[4]),
        source=_unquoted(right[1]),
        kind=right[0],
        device=left[2],
        root=_unquoted(left[3]),
        options=tuple(left[5].split(",")),
        of_system=tuple(right[2].split(",")) if len(right) > 2 else (),
    )


def is_above(mount: str, path: str) -> bool:
    """Whether a path lies below the place of a mount."""
    return path == mount or path.startswith(mount.rstrip("/") + "/")


def _unquoted(path: str) -> str:
    """A path with its blanks, which the kernel writes as numbers."""
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), path)


def _disk_below(world: World, entry: _Entry) -> str | None:
    """The name of the whole disk below a mount: through partitions, volumes, arrays."""
    place = world.link(f"/sys/dev/block/{entry.device}")
    name = place.rpartition("/")[2] if place else _by_source(world, entry.source)
    return None if name is None else _whole_disk(world, name, depth=0)


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


def _whole_disk(world: World, name: str, *, depth: int) -> str | None:
    if depth > _MOST_DEPTH:
        return None
    place = world.link(f"/sys/class/block/{name}") or ""
    if world.has(f"/sys/class/block/{name}/partition") and place:
        return _whole_disk(world, place.split("/")[-2], depth=depth + 1)
    below = world.names(f"/sys/class/block/{name}/slaves")
    if len(below) == 1:
        return _whole_disk(world, below[0], depth=depth + 1)
    return name if world.has(f"/sys/block/{name}") else None


_PATIENCE_S = 2.0
_NETWORK = (
    "nfs",
    "cifs",
    "smb",
    "lustre",
    "ceph",
    "gpfs",
    "beegfs",
    "glusterfs",
    "9p",
    "virtiofs",
    "fuse.",
    "afs",
)
_LOCAL = (
    *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "reiserfs", "jfs", "vfat", "exfat"),
    *("ntfs", "ntfs3", "fuseblk", "overlay", "tmpfs", "apfs", "hfs"),
)
_PASSED = (
    *("/etc/", "/proc/", "/sys/", "/run/", "/dev/", "/snap/", "/boot/efi", "/usr/lib/"),
    *("/var/lib/docker/", "/var/lib/containerd/", "/var/lib/containers/", "/var/lib/kubelet/"),
)
_SMALL = ("/run", "/dev", "/sys", "/proc")  # in memory, the system's own
_MOST = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mounts:
    """The file systems, and those that did not answer."""

    mounts: tuple[Mount, ...] | None
    unseen: tuple[Unseen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Space:
    """Blocks or files of one file system."""

    whole: float
    free: float


def mounts_of(world: World) -> _Mounts:
    """Every file system of weight, each once."""
    if not world.has(_FILE):
        return _Mounts(mounts=_by_psutil(world))
    wanted = _wanted(entries(world))
    far = [entry for entry in wanted if _is_network(entry.kind)]
    near = [entry for entry in wanted if not _is_network(entry.kind)]
    groups = [[entry] for entry in far] + ([near] if near else [])
    pairs = at_once(lambda group: _asked(world, group), groups)
    bytes_of = {path: space for blocks, _ in pairs for path, space in blocks.items()}
    files_of = {path: space for _, files in pairs for path, space in files.items()}
    mounts = [
        _mount(world, entry, size=bytes_of.get(entry.path), files=files_of.get(entry.path))
        for entry in wanted
    ]
    silent = [entry for entry in wanted if entry.path not in bytes_of]
    return _Mounts(
        mounts=tuple(mounts),
        unseen=tuple(
            Unseen(
                what=f"mounts.{entry.path}",
                why=say("{path} ({kind}) timed out on df", path=entry.path, kind=entry.kind),
                see=f"df -h {shlex.quote(entry.path)}",
            )
            for entry in silent
        ),
    )


def _is_network(kind: str) -> bool:
    """Whether a file system lies on another machine."""
    return kind.startswith(_NETWORK)


def _wanted(every: tuple[_Entry, ...]) -> list[_Entry]:
    """Of what lies over each other the last; of one file system mounted in many places the first."""
    last = {entry.path: entry for entry in every}
    entries: dict[tuple[str, str], _Entry] = {}
    for entry in sorted(last.values(), key=lambda item: (item.root != "/", len(item.path))):
        system = entry.path.startswith(_PASSED) or (entry.kind == "tmpfs" and entry.path in _SMALL)
        if not system and (entry.kind in _LOCAL or _is_network(entry.kind)):
            key = (entry.device, entry.source) if entry.kind not in {"overlay", "tmpfs"} else (entry.path, "")
            entries.setdefault(key, entry)
    return sorted(entries.values(), key=lambda item: item.path)[:_MOST]


def _asked(world: World, group: list[_Entry]) -> tuple[dict[str, _Space], dict[str, _Space]]:
    """Blocks and files of a group, by path."""
    paths = {_place(world, entry.path): entry.path for entry in group}
    blocks = _df(world, "-kP", paths=paths, unit=KIB)
    return blocks, _df(world, "-iP", paths=paths, unit=1) if blocks else {}


def _place(world: World, path: str) -> str:
    """A path for a command: below the root of a live machine, as it is for a recorded one."""
    return str(world.at(path)) if world.is_live and world.commands is None else path


def _df(world: World, how: str, *, paths: dict[str, str], unit: int) -> dict[str, _Space]:
    reply = world.run("df", how, *paths, patience_s=_PATIENCE_S)
    spaces = {}
    for line in (reply.out if reply is not None else "").splitlines()[1:]:
        cells = line.split(maxsplit=5)
        if len(cells) == 6 and cells[1].isdecimal() and cells[3].isdecimal() and cells[5] in paths:
            spaces[paths[cells[5]]] = _Space(
                whole=float(int(cells[1]) * unit), free=float(int(cells[3]) * unit)
            )
    return spaces


def _mount(world: World, entry: _Entry, *, size: _Space | None, files: _Space | None) -> Mount:
    return Mount(
        path=entry.path,
        source=entry.source,
        kind=entry.kind,
        options=(
            *entry.options,
            *(text for text in entry.of_system if text not in entry.options and "=" not in text),
        ),
        disk=_disk_below(world, entry),
        size_bytes=size.whole if size else None,
        free_bytes=size.free if size else None,
        files_free_share=files.free / files.whole if files and files.whole else None,
    )


def _by_psutil(world: World) -> tuple[Mount, ...] | None:
    """Local file systems of macOS and Windows, as far as Python's psutil tells; None where nobody does."""
    if not world.is_own:
        return None
    try:
        import psutil
    except ImportError:
        return None
    mounts = []
    for disk_partition in psutil.disk_partitions(all=False):
        with suppress(OSError):
            space = psutil.disk_usage(disk_partition.mountpoint)
            mounts.append(
                Mount(
                    path=disk_partition.mountpoint,
                    source=disk_partition.device,
                    kind=disk_partition.fstype.lower(),
                    options=tuple(disk_partition.opts.split(",")),
                    size_bytes=float(space.total),
                    free_bytes=float(space.free),
                )
            )
    return tuple(mounts)
