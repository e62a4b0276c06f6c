"""Loading a checkpoint from a cold cache: torch.load, torch.load with a memory map, and one like safetensors.

The file holds bf16 tensors of random bits. A memory map returns at once and pays when a tensor is first used,
so every tensor is summed in each way: the time is until the weights are really there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from rigright.base.units import GIB, MIB, show_bytes
from rigright.base.words import say
from rigright.machine.bench import plain
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import Settings, rate
from rigright.machine.bench.needs import NO_TORCH
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.storage import cool, place_of, room
from rigright.machine.bench.torched import has_pytorch, pytorch

TITLE = say("loading a checkpoint from a cold cache")
GROUP = "disk"
NEEDS = ("folder", "numpy")
SHARE = 1.0

SIZE, QUICK_SIZE = 2 * GIB, 64 * MIB
TENSOR = 32 * MIB  # bytes of one tensor


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Write both kinds, load each in each way; without PyTorch only the one like safetensors."""
    torch = pytorch() if has_pytorch() else None
    if torch is not None:
        torch.set_num_threads(ask.cpus)
    folder = Path(ask.folder or ".")
    place = place_of(str(folder))
    size = room(place, QUICK_SIZE if ask.quick else SIZE, files=2) // TENSOR * TENSOR
    until = Deadline.of(ask.spare_s)
    own, flat_file = folder / "checkpoint.pt", folder / "checkpoint.flat"
    try:
        _write(own if torch is not None else None, flat_file, count=size // TENSOR)
        by = () if torch is not None else (plain.BY,)
        words = (("file", show_bytes(size)), ("file system", place.kind or "not known"), *by)
        for index, (name, path, load) in enumerate(_ways(own, flat_file, torched=torch is not None)):
            if until.is_over() and index:
                yield Skipped(part="", why=say("time ran out before {what}", what=name))
                return
            yield _measured(name, path, load=load, on=ask.shown_folder or str(folder), settings=words)
        if torch is None:
            yield Skipped(part="", why=say("{what}: {why}", what="torch.load", why=NO_TORCH))
    finally:
        own.unlink(missing_ok=True)
        flat_file.unlink(missing_ok=True)


def _ways(
    own: Path, flat_file: Path, *, torched: bool
) -> Iterator[tuple[str, Path, Callable[[Path], object]]]:
    """Each way of loading: its name, its file, and what loads it until the weights are there."""
    if not torched:
        yield "like safetensors", flat_file, plain.copied
        yield "like safetensors, mapped", flat_file, plain.touched
        return
    yield "torch.load", own, lambda path: _summed(_loaded(path, mapped=False))
    yield "torch.load, mapped", own, lambda path: _summed(_loaded(path, mapped=True))
    yield "like safetensors, mapped", flat_file, lambda path: _summed(flat(path))


def _summed(tensors: Iterable[Any]) -> None:
    for tensor in list(tensors):
        tensor.view(-1)[::2048].sum()


def _measured(
    name: str, path: Path, *, load: Callable[[Path], object], on: str, settings: Settings
) -> Result:
    file = os.open(path, os.O_RDONLY)
    try:
        how = cool(file)
    finally:
        os.close(file)
    began = time.perf_counter()
    load(path)
    took = time.perf_counter() - began
    work = float(path.stat().st_size)
    return rate(
        name, on=on, work=work, times_s=[took], unit="bytes_per_s", settings=(*settings, ("cache", how))
    )


def _loaded(path: Path, *, mapped: bool) -> Iterator[Any]:
    torch = pytorch()

    return iter(torch.load(path, map_location="cpu", weights_only=True, mmap=mapped).values())


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


def flat(path: Path) -> list[Any]:
    """Tensors of a file with a JSON head, as views of a memory map."""
    begin, places = plain.spans(path)
    torch = pytorch()
    whole = torch.from_file(str(path), shared=False, size=path.stat().st_size, dtype=torch.uint8)
    return [whole[begin + first : begin + last] for first, last in places]
