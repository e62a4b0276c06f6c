"""Loading a checkpoint from a cold cache: torch.load, torch.load with a memory map, and one like safetensors.

The file holds bf16 tensors of random bits. A memory map returns at once and pays when a tensor is first used,
so every tensor is summed in each way: the time is until the weights are really there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.units import GIB, MIB, show_bytes
from rigright.base.words import say
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import Settings, rate
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.storage import cool, place_of, room
from rigright.machine.bench.torched import pytorch

TITLE = say("loading a checkpoint from a cold cache")
GROUP = "disk"
NEEDS = ("torch", "folder")
SHARE = 1.0

SIZE, QUICK_SIZE = 2 * GIB, 64 * MIB
TENSOR = 32 * MIB  # bytes of one tensor


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Write both kinds, load each in each way."""
    torch = pytorch()

    torch.set_num_threads(ask.cpus)
    folder = Path(ask.folder or ".")
    place = place_of(str(folder))
    size = room(place, QUICK_SIZE if ask.quick else SIZE, files=2) // TENSOR * TENSOR
    until = Deadline.of(ask.spare_s)
    own, plain = folder / "checkpoint.pt", folder / "checkpoint.flat"
    try:
        _write(own, plain, count=size // TENSOR)
        ways: tuple[tuple[str, Path, Callable[[Path], list[Any]]], ...] = (
            ("torch.load", own, lambda path: list(_loaded(path, mapped=False))),
            ("torch.load, mapped", own, lambda path: list(_loaded(path, mapped=True))),
            ("like safetensors, mapped", plain, flat),
        )
        for index, (name, path, load) in enumerate(ways):
            if until.is_over() and index:
                yield Skipped(part="", why=say("time ran out before {what}", what=name))
                return
            words = (("file", show_bytes(size)), ("file system", place.kind or "not known"))
            yield _measured(name, path, load=load, on=ask.shown_folder or str(folder), settings=words)
    finally:
        own.unlink(missing_ok=True)
        plain.unlink(missing_ok=True)


def _measured(
    name: str, path: Path, *, load: Callable[[Path], list[Any]], on: str, settings: Settings
) -> Result:
    file = os.open(path, os.O_RDONLY)
    try:
        how = cool(file)
    finally:
        os.close(file)
    began = time.perf_counter()
    for tensor in load(path):
        tensor.view(-1)[::2048].sum()
    took = time.perf_counter() - began
    work = float(path.stat().st_size)
    return rate(
        name, on=on, work=work, times_s=[took], unit="bytes_per_s", settings=(*settings, ("cache", how))
    )


def _loaded(path: Path, *, mapped: bool) -> Iterator[Any]:
    torch = pytorch()

    return iter(torch.load(path, map_location="cpu", weights_only=True, mmap=mapped).values())


def _write(own: Path, plain: Path, *, count: int) -> None:
    torch = pytorch()

    bits = {f"layer.{index}": bytearray(os.urandom(TENSOR)) for index in range(count)}
    tensors = {name: torch.frombuffer(some, dtype=torch.bfloat16) for name, some in bits.items()}
    torch.save(tensors, own)
    head = {
        name: {
            "dtype": "BF16",
            "shape": [TENSOR // 2],
            "data_offsets": [index * TENSOR, (index + 1) * TENSOR],
        }
        for index, name in enumerate(tensors)
    }
    told = json.dumps(head).encode()
    with plain.open("wb") as file:
        file.write(len(told).to_bytes(8, "little") + told)
        for some in bits.values():
            file.write(some)
    for path in (own, plain):
        file_number = os.open(path, os.O_RDONLY)
        os.fsync(file_number)
        os.close(file_number)


def flat(path: Path) -> list[Any]:
    """Tensors of a file with a JSON head, as views of a memory map."""
    torch = pytorch()

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        head = bounded_json(file.read(length))
    whole = torch.from_file(str(path), shared=False, size=path.stat().st_size, dtype=torch.uint8)
    begin = 8 + length
    spans = [one["data_offsets"] for one in head.values()]
    return [whole[begin + first : begin + last] for first, last in spans]
