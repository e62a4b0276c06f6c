"""Bandwidth of each card's own memory: copy, read, write, triad.

Bytes read and bytes written are both counted, as STREAM counts them; buffers are far larger than any cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import pytorch

TITLE = say("memory bandwidth of each GPU")
GROUP = "cards"
NEEDS = ("torch", "accelerator")
SHARE = 1.0

LARGEST, SMALLEST = GIB, 64 * MIB
STREAMS = {"copy": 2, "triad": 3, "read": 1, "write": 1}  # buffers that pass through


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every stream on every card."""
    until = Deadline.of(ask.spare_s)
    cards = accelerators(ask)
    left = len(STREAMS) * len(cards)
    for name, passes in STREAMS.items():
        for card in cards:
            size = buffer_bytes(card.free_bytes())
            if size is None:
                yield Skipped(part="", why=say("{on} has too little free memory", on=card.on))
                continue
            times = card.times(_stream(name, card, size=size), min(until.left_s() / left, 1.0))
            left -= 1
            yield rate(
                name,
                on=card.on,
                work=float(passes * size),
                times_s=times,
                unit="bytes_per_s",
                settings=(("buffer", f"{size // MIB} MiB"), ("counted", "read + written")),
            )


def buffer_bytes(free: float | None) -> int | None:
    """The largest power of two that leaves room for four of its kind; None: there is no room."""
    size = LARGEST
    while free is not None and size * 4 > free and size >= SMALLEST:
        size //= 2
    return size if size >= SMALLEST else None


def _stream(name: str, card: Accelerator, *, size: int) -> Callable[[], Any]:
    torch = pytorch()

    count = size // 4
    first = torch.rand(count, device=card.device)
    if name == "read":
        return lambda: torch.sum(first)
    if name == "write":
        return lambda: first.fill_(1.5)
    second = torch.rand(count, device=card.device)
    if name == "copy":
        return lambda: first.copy_(second)
    third = torch.rand(count, device=card.device)
    return lambda: torch.add(second, third, alpha=1.5, out=first)
