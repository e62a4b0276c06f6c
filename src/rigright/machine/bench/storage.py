"""Where a disk benchmark may write: the kind of file system, how much room, and how a read is made cold.

Cold means: not from the page cache. `O_DIRECT` goes around it; else the pages are dropped with
`posix_fadvise`, which a file that is still being written ignores, so it is synced first.
"""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rigright.base.errors import MissingError
from rigright.base.units import GIB, MIB, show_bytes
from rigright.base.words import say
from rigright.machine.mounts import entries, is_above
from rigright.machine.world import World, here

_IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}
SPARE = 2 * GIB  # is left free whatever is measured
LEAST = 64 * MIB
BLOCK = 4 * MIB
_ALIGNED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchFolder:
    """A folder that files can be put in."""

    folder: str
    kind: str | None  # of its file system: "ext4"; None: not known
    free_bytes: float

    @property
    def in_memory(self) -> bool:
        """Whether it is no disk at all."""
        return self.kind in _IN_MEMORY


def place_of(folder: str) -> ScratchFolder:
    """What lies under a folder."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise MissingError(say("{folder}: {why}", folder=folder, why=error.strerror or error)) from None
    kind = kind_of(os.path.realpath(folder), here())
    return ScratchFolder(folder=folder, kind=kind, free_bytes=float(free))


def kind_of(path: str, world: World) -> str | None:
    """The kind of the file system a path lies on: the longest mount above it, the last one mounted."""
    above = [entry for entry in reversed(entries(world)) if is_above(entry.path, path)]
    return max(above, key=lambda entry: len(entry.path)).kind if above else None


def room(place: ScratchFolder, wanted: int, *, files: int = 1) -> int:
    """How large a file may be: what is wanted, or less where the disk has less; too little is an error."""
    fits = int((place.free_bytes - SPARE) / files)
    size = min(wanted, fits // MIB * MIB)
    if size < LEAST:
        raise MissingError(
            say(
                "{folder} has {free} free; needs {need} plus {spare} reserve",
                folder=place.folder,
                free=show_bytes(place.free_bytes),
                need=show_bytes(LEAST * files),
                spare=show_bytes(SPARE),
            )
        )
    return size


@contextmanager
def nameless(folder: str) -> Iterator[int]:
    """A file that is gone as soon as it is closed, whatever happens to this process."""
    path = Path(folder) / f"rigright-{os.getpid()}"
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with suppress(OSError):
            path.unlink()  # not on Windows: there it is removed below
        yield opened
    finally:
        os.close(opened)
        path.unlink(missing_ok=True)


def fill(file: int, size: int) -> None:
    """Random bytes: disks and file systems shrink zeros; on the disk when this is done."""
    block = os.urandom(BLOCK)
    for start in range(0, size, BLOCK):
        view = memoryview(block)[: min(BLOCK, size - start)]
        while view:
            view = view[os.write(file, view) :]
    os.fsync(file)


def cool(file: int) -> str:
    """Drop a file from the page cache; says how, or that it could not be done."""
    if hasattr(os, "posix_fadvise"):
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        return "fsync + posix_fadvise DONTNEED"
    return "not dropped: this system offers no way"


@contextmanager
def past_the_cache(file: int) -> Iterator[int | None]:
    """The same file opened so that reads go to the disk; None where that cannot be done."""
    direct = getattr(os, "O_DIRECT", 0)
    opened = None
    if direct:
        with suppress(OSError):
            opened = os.open(f"/proc/self/fd/{file}", os.O_RDONLY | direct)
    try:
        yield opened if opened is not None and _reads(opened) else None
    finally:
        if opened is not None:
            os.close(opened)


def _reads(file: int) -> bool:
    """Some file systems take the flag and refuse the reads."""
    try:
        with aligned(_ALIGNED) as buffer:
            return os.preadv(file, [buffer], 0) == _ALIGNED
    except OSError:
        return False


@contextmanager
def aligned(size: int) -> Iterator[mmap.mmap]:
    """Memory on a page's border, as direct reads ask for."""
    buffer = mmap.mmap(-1, size)
    try:
        yield buffer
    finally:
        buffer.close()
