"""Reading large files from a disk: numbers as a memory map and into memory, and a checkpoint in three ways.

Cold: the file was written, synced and dropped from the page cache. Rows of numbers are picked at random, as a
shuffled data set does, and read in order, as weights are. A checkpoint holds bf16 tensors of random bits; it
is loaded with torch.load, with a memory map, and like safetensors. A memory map returns at once and pays when
a tensor is first used, so every tensor is used in each way: the time is until the weights are really there.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.units import GIB, KIB, MIB, show_bytes
from rigright.base.words import say
from rigright.machine.bench.accelerator import BY_NUMPY, has_pytorch, pytorch
from rigright.machine.bench.record import BenchRequest, Result, Settings, Skipped
from rigright.machine.bench.storage import BLOCK, ScratchFolder, cool, fill, place_of, room
from rigright.machine.bench.table import NO_TORCH
from rigright.machine.bench.tasks import Deadline, Task, measure, once_s, rate

SIZE, QUICK_SIZE = 2 * GIB, 64 * MIB
ROW = 64 * KIB  # bytes of a row of numbers
MOST_ROWS = 4000
_PAGE = 4096
TENSOR = 32 * MIB  # bytes of a tensor of a checkpoint


def memmap(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """In order plain and mapped, at random mapped; each cold, then once more from the cache."""
    folder = ask.folder or "."
    place = place_of(folder)
    size = room(place, QUICK_SIZE if ask.quick else SIZE)
    path = Path(folder) / "numbers"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fill(file, size)
        ways = {"plain": _plain, "mapped": _mapped, "mapped, rows at random": _rows}
        run = partial(_read, path=path, settings=_file_settings(size, place))
        tasks = [
            Task(
                what=f"{name}, {warmth}",
                on=ask.shown_folder or folder,
                run=partial(run, load=load, warmth=warmth),
            )
            for name, load in ways.items()
            for warmth in ("cold", "warm")
        ]
        yield from measure(tasks, Deadline.of(ask.spare_s))
    finally:
        os.close(file)
        path.unlink(missing_ok=True)


def _file_settings(size: int, place: ScratchFolder) -> Settings:
    return (("file", show_bytes(size)), ("file system", place.kind or "not known"))


def _read(
    _spare_s: float, *, path: Path, load: Callable[[Path], int], warmth: str, settings: Settings
) -> Iterator[Result]:
    """Read it once; it gives the bytes that were read."""
    cache = "page cache"
    if warmth == "cold":
        file = os.open(path, os.O_RDONLY)
        try:
            cache = cool(file)
        finally:
            os.close(file)
    size = 0

    def once() -> None:
        nonlocal size
        size = load(path)

    times = [once_s(once)]
    yield rate(work=float(size), times_s=times, unit="bytes_per_s", settings=(*settings, ("cache", cache)))


def _plain(path: Path) -> int:
    """Block by block into one buffer."""
    buffer, size = bytearray(BLOCK), 0
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            size += count
    return size


def _mapped(path: Path) -> int:
    """Every page of a map touched, in order."""
    import numpy as np

    numbers = np.memmap(path, np.uint8, "r")
    int(numbers[::_PAGE].max())
    return len(numbers)


def _rows(path: Path) -> int:
    """Whole rows in any order."""
    import numpy as np

    rows = np.memmap(path, np.uint8, "r", shape=(path.stat().st_size // ROW, ROW))
    order = np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS]
    for row in order:
        int(rows[row, ::_PAGE].max())
    return len(order) * ROW


def checkpoint(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Write both kinds, load each in each way; without PyTorch only the one like safetensors."""
    with_torch = has_pytorch()
    if with_torch:
        pytorch().set_num_threads(ask.cpus)
    folder = Path(ask.folder or ".")
    place = place_of(str(folder))
    size = room(place, QUICK_SIZE if ask.quick else SIZE, files=2) // TENSOR * TENSOR
    until = Deadline.of(ask.spare_s)
    own, flat_file = folder / "checkpoint.pt", folder / "checkpoint.flat"
    settings = _file_settings(size, place) + (() if with_torch else (BY_NUMPY,))
    ways: dict[str, tuple[Path, Callable[[Path], int]]] = {
        "torch.load": (own, partial(_torch_load, mapped=False)),
        "torch.load, mapped": (own, partial(_torch_load, mapped=True)),
        "like safetensors, mapped": (flat_file, lambda path: _use(flat(path), path)),
    }
    if not with_torch:
        ways = {
            "like safetensors": (flat_file, copied),
            "like safetensors, mapped": (flat_file, touched),
        }
    try:
        _write(own if with_torch else None, flat_file, count=size // TENSOR)
        tasks = [
            Task(
                what=name,
                on=ask.shown_folder or str(folder),
                run=partial(_read, path=path, load=load, warmth="cold", settings=settings),
                always=name == next(iter(ways)),  # however long the files took to write
            )
            for name, (path, load) in ways.items()
        ]
        yield from measure(tasks, until)
        if not with_torch:
            yield Skipped(part="", why=say("{what}: {why}", what="torch.load", why=NO_TORCH))
    finally:
        own.unlink(missing_ok=True)
        flat_file.unlink(missing_ok=True)


def _write(own: Path | None, flat_file: Path, *, count: int) -> None:
    """The file that torch.save writes, where there is PyTorch, and the flat one."""
    bits = {f"layer.{index}": bytearray(os.urandom(TENSOR)) for index in range(count)}
    if own is not None:
        torch = pytorch()
        torch.save({name: torch.frombuffer(some, dtype=torch.bfloat16) for name, some in bits.items()}, own)
    head = {
        name: {
            "dtype": "BF16",
            "shape": [TENSOR // 2],
            "data_offsets": [index * TENSOR, (index + 1) * TENSOR],
        }
        for index, name in enumerate(bits)
    }
    data = json.dumps(head).encode()
    with flat_file.open("wb") as file:
        file.write(len(data).to_bytes(8, "little") + data)
        for some in bits.values():
            file.write(some)
    for path in filter(None, (own, flat_file)):
        file_number = os.open(path, os.O_RDONLY)
        os.fsync(file_number)
        os.close(file_number)


def _torch_load(path: Path, *, mapped: bool) -> int:
    """What torch.save wrote, until the weights are there."""
    tensors = pytorch().load(path, map_location="cpu", weights_only=True, mmap=mapped)
    return _use(tensors.values(), path)


def _use(tensors: Iterable[Any], path: Path) -> int:
    for tensor in list(tensors):
        tensor.view(-1)[::2048].sum()
    return path.stat().st_size


def flat(path: Path) -> list[Any]:
    """Tensors of a file with a JSON head, as views of a memory map."""
    begin, places = spans(path)
    torch = pytorch()
    whole = torch.from_file(str(path), shared=False, size=path.stat().st_size, dtype=torch.uint8)
    return [whole[begin + first : begin + last] for first, last in places]


def spans(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """Where the tensors of a file with a JSON head begin, and from where to where each lies behind that."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        head = bounded_json(file.read(length))
    return 8 + length, [tuple(value["data_offsets"]) for value in head.values()]


def touched(path: Path) -> int:
    """Every tensor of such a file through a memory map, each page used once."""
    import numpy as np

    begin, places = spans(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        numbers = np.frombuffer(whole, np.uint8)
        for first, last in places:
            int(numbers[begin + first : begin + last : _PAGE].max())
        del numbers
    return path.stat().st_size


def copied(path: Path) -> int:
    """Every tensor of such a file read into memory of its own."""
    begin, places = spans(path)
    with path.open("rb", buffering=0) as file:
        return begin + sum(_filled(file, begin + first, size=last - first) for first, last in places)


def _filled(file: Any, at: int, *, size: int) -> int:
    file.seek(at)
    buffer = memoryview(bytearray(size))
    done = 0
    while done < size and (count := file.readinto(buffer[done:])):
        done += count
    return done
