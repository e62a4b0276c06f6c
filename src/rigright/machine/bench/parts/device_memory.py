"""Each card's own memory: how fast it is, and whether it gives back what was written to it.

Bytes read and bytes written are both counted, as STREAM counts them; buffers are far larger than any cache.
To compare values nearly all that is free is filled, all of it before any is read again: each word holds its
own place, so that a line of address that is stuck shows, and then the opposite of that, so that every bit was
on and off. Error correction hides what it can mend; the doctor looks at its counters afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rigright.base.errors import MissingError
from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators, pytorch
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.bench.tasks import Deadline, Task, fitting_bytes, measure, rate, spread

LARGEST, SMALLEST = GIB, 64 * MIB
_STREAMS = {"copy": 2, "triad": 3, "read": 1, "write": 1}  # buffers that pass through
_FILLED = 0.85  # of the free memory
_SMALLEST_CHUNK = 16 * MIB
_WORD = 8  # bytes
_MASKS = (0, -1)  # each word's own place, and the opposite of it


def device_memory(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every stream on every card."""
    tasks = [
        Task(what=name, on=card.on, run=partial(_bandwidth, name=name, card=card), most_s=1.0, always=True)
        for name in _STREAMS
        for card in accelerators(ask)
    ]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def _bandwidth(spare_s: float, *, name: str, card: Accelerator) -> Iterator[Result]:
    size = buffer_bytes(card, free=card.free_bytes(), smallest=SMALLEST)
    yield rate(
        work=float(_STREAMS[name] * size),
        times_s=card.times(_stream(name, card, size=size), spare_s),
        unit="bytes_per_s",
        settings=(("buffer", f"{size // MIB} MiB"), ("counted", "read + written")),
    )


def buffer_bytes(card: Accelerator, *, free: float | None, smallest: int) -> int:
    """The largest buffer that leaves room for four of its kind."""
    size = fitting_bytes(free, most=LARGEST, least=smallest, times=4)
    if size is None:
        raise MissingError(say("{on} has too little free memory", on=card.on))
    return size


def _stream(name: str, card: Accelerator, *, size: int) -> Callable[[], Any]:
    torch = pytorch()
    first, second, third = (torch.rand(size // 4, device=card.device) for _ in range(3))
    return {
        "read": lambda: torch.sum(first),
        "write": lambda: first.fill_(1.5),
        "copy": lambda: first.copy_(second),
        "triad": lambda: torch.add(second, third, alpha=1.5, out=first),
    }[name]


def memory_values(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """One card after another."""
    if ask.quick:
        raise MissingError(say("takes too long for a quick run"))
    tasks = [
        Task(what="kept what was written", on=card.on, run=partial(_compare_values, card=card), always=True)
        for card in accelerators(ask)
    ]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def _compare_values(_spare_s: float, *, card: Accelerator) -> Iterator[Result]:
    free = card.free_bytes() or 2 * LARGEST
    size = buffer_bytes(card, free=free, smallest=_SMALLEST_CHUNK)
    count = int(_FILLED * free) // size - 2  # two more are needed to compare
    wrong = sum(_wrong(card, mask, count=count, words=size // _WORD) for mask in _MASKS)
    settings = (("wrong", str(wrong)), ("counted", "of the free memory"))
    yield spread(values=[count * size / free], unit="ratio", settings=settings)


def _wrong(card: Accelerator, mask: int, *, count: int, words: int) -> int:
    """How many words differ from what was written."""
    torch = pytorch()

    def written(index: int, into: Any) -> Any:
        torch.arange(index * words, (index + 1) * words, out=into)
        return into.bitwise_xor_(mask)

    chunks = [torch.empty(words, dtype=torch.int64, device=card.device) for _ in range(count)]
    for index, chunk in enumerate(chunks):
        written(index, chunk)
    card.wait()
    right = torch.empty(words, dtype=torch.int64, device=card.device)
    values = [(chunk != written(index, right)).sum() for index, chunk in enumerate(chunks)]
    return sum(int(value.item()) for value in values)
