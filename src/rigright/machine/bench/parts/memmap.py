"""Reading a large file of numbers: as a memory map and into memory, cold and warm.

Cold: the file was written, synced and dropped from the page cache. Rows are picked at random, as a shuffled
data set does, and read in order, as weights are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from rigright.base.units import GIB, KIB, MIB, show_bytes
from rigright.base.words import say
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.storage import BLOCK, cool, fill, place_of, room

TITLE = say("reading a large file: mmap and read()")
GROUP = "disk"
NEEDS = ("folder", "numpy")
SHARE = 1.0

SIZE, QUICK_SIZE = 2 * GIB, 64 * MIB
ROW = 64 * KIB  # bytes of a row
MOST_ROWS = 4000
PAGE = 4096


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """In order plain and mapped, at random mapped; then once more from the cache."""
    folder = ask.folder or "."
    place = place_of(folder)
    size = room(place, QUICK_SIZE if ask.quick else SIZE)
    path = Path(folder) / "numbers"
    on = ask.shown_folder or folder
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fill(file, size)
        until = Deadline.of(ask.spare_s)
        base = (("file", show_bytes(size)), ("file system", place.kind or "not known"))
        for name, kind in (("plain", _plain), ("mapped", _mapped), ("mapped, rows at random", _rows)):
            for warmth in ("cold", "warm"):
                if until.is_over():
                    yield Skipped(part="", why=say("time ran out before {what}", what=f"{name}, {warmth}"))
                    return
                how = cool(file) if warmth == "cold" else "page cache"
                began = time.perf_counter()
                read = kind(path, size)
                took = time.perf_counter() - began
                yield rate(
                    f"{name}, {warmth}", on=on, work=float(read), times_s=[took], unit="bytes_per_s",
                    settings=(*base, ("cache", how)),
                )  # fmt: skip
    finally:
        os.close(file)
        path.unlink(missing_ok=True)


def _plain(path: Path, size: int) -> int:
    """Block by block into one buffer."""
    buffer = bytearray(BLOCK)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return size


def _mapped(path: Path, size: int) -> int:
    """Every page of a map touched, in order."""
    import numpy as np

    numbers = np.memmap(path, np.uint8, "r")
    int(numbers[::PAGE].max())
    return size


def _rows(path: Path, size: int) -> int:
    """Whole rows in any order."""
    import numpy as np

    rows = np.memmap(path, np.uint8, "r", shape=(size // ROW, ROW))
    order = np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS]
    for row in order:
        int(rows[row, ::PAGE].max())
    return len(order) * ROW
